import { z } from 'zod'
import { AppError } from '../../../core/errors.js'
import { type CancelStore, cancelGeneration } from '../../../core/generations/cancel.js'
import { CANCELED } from '../../../core/generations/failure-reason.js'
import { GENERATION_ID } from '../../../core/generations/generation.js'
import { noSuchGeneration, runAgain } from '../../../core/operator/run-again.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { byOf, reason } from '../parts/operator-forms.js'
import { OverseenGenerationPage } from './generation-page.js'

// What Postgres refuses is no ID either.
const params = z.object({ id: z.string().regex(GENERATION_ID).catch('') })
const body = z.object({ reason })

/** One generation: what it is, and canceling it or running it again. */
export function overseenGenerationRoutes(app: App, { ports }: WebsiteOptions): void {
  const { oversight, operatorActions, recorded } = ports
  const pathOf = (id: string) => `/operator/generations/${id}`

  app.get(pathOf(':id'), { schema: { params } }, async (request, reply) => {
    const { id } = request.params
    const generation = await oversight.generation(id)
    if (!generation) throw noSuchGeneration()
    return sendPage(reply, <OverseenGenerationPage generation={generation} signedIn={sessionOf(request)} />)
  })

  app.post(`${pathOf(':id')}/cancel`, { schema: { params, body } }, async (request, reply) => {
    const { id } = request.params
    const act = { ...byOf(request, request.body.reason), action: 'canceled generation', target: id }
    const cancels: CancelStore = {
      cancel: (...asked) =>
        recorded(
          (stores) => stores.cancels.cancel(...asked),
          (ended) => ended && act,
        ),
    }
    if (!(await cancelGeneration({ ...ports, cancels }, id, CANCELED, { onlyQueued: false })))
      throw new AppError('invalid_request', 'It has ended already, so there is nothing to cancel.')
    return reply.redirect(pathOf(id), 303)
  })

  app.post(`${pathOf(':id')}/run-again`, { schema: { params, body } }, async (request, reply) => {
    const { id } = request.params
    const by = byOf(request, request.body.reason)
    // Before it is submitted, which is a transaction of its own and needs Redis: nothing is done without a record.
    await operatorActions.record({ ...by, action: 'asked to run it again', target: id })
    const submitted = await runAgain(ports, id, request.id)
    await operatorActions.record({ ...by, action: `ran again as ${submitted.id}`, target: id })
    return reply.redirect(pathOf(submitted.id), 303)
  })
}
