import { z } from 'zod'
import { invalidParameter } from '../../../core/errors.js'
import { PAUSE_SCOPES, type Pausable, pause, resume } from '../../../core/operator/pauses.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { isStorable } from '../../../lib/text.js'
import { sendFragment, sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { byOf, reason } from '../parts/operator-forms.js'
import { OverviewPage } from './overview-page.js'
import { OverviewParts } from './overview-parts.js'

/** `all`, or a scope and its target with a blank between them. */
const what = z.string().transform((text): Pausable => {
  const [, scope, target = ''] = /^(\S+) ?(.*)$/s.exec(text) ?? []
  const known = PAUSE_SCOPES.find((it) => it === scope)
  if (!known || (known === 'all') !== (target === '') || !isStorable(target))
    throw invalidParameter('what', 'Choose what to pause from the list.')
  return { scope: known, target }
})
const preselected = z.object({ what: z.string().max(600).catch('all') })
const pauseBody = z.object({ what, reason })
const resumeBody = z.object({ what, reason: reason.or(z.literal('')).catch('') })

/** The queue, the backends and what failed; pausing and resuming. */
export function overviewRoutes(app: App, { ports }: WebsiteOptions): void {
  const { oversight, pauses, catalog, auditResults } = ports

  app.get('/operator', { schema: { querystring: preselected } }, async (request, reply) => {
    const [overview, models, audit] = await Promise.all([oversight.overview(), catalog.list(), auditResults.last()])
    const chosen = request.query.what
    return sendPage(
      reply,
      <OverviewPage overview={overview} models={models} chosen={chosen} audit={audit} signedIn={sessionOf(request)} />,
    )
  })

  app.get('/operator/live', async (_request, reply) =>
    sendFragment(reply, <OverviewParts overview={await oversight.overview()} />),
  )

  app.post('/operator/pause', { schema: { body: pauseBody } }, async (request, reply) => {
    const { what, reason } = request.body
    await pause(pauses, what, byOf(request, reason))
    return reply.redirect('/operator', 303)
  })

  app.post('/operator/resume', { schema: { body: resumeBody } }, async (request, reply) => {
    const { what, reason } = request.body
    await resume(pauses, what, byOf(request, reason))
    return reply.redirect('/operator', 303)
  })
}
