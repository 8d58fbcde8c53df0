import { z } from 'zod'
import { AppError } from '../../../core/errors.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { address } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { ModerationPage } from './moderation-page.js'
import { RepeatedPage } from './repeated-page.js'

const REFUSALS_PER_PAGE = 50
const MOST_ACCOUNTS = 100

const word = (maxLength: number) =>
  z
    .string()
    .catch('')
    .transform((text) => text.replaceAll('\0', '').trim().slice(0, maxLength))
const place = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER)
/** Which refusals are shown. */
const chosen = z.object({ category: word(200), user: word(64), before: place.optional().catch(undefined) })
const query = chosen.extend({ done: z.literal('wrong').optional().catch(undefined) })
const params = z.object({ id: place })

/** The log of refused prompts. */
export function moderationPageRoutes(app: App, { ports }: WebsiteOptions): void {
  const { administration, refusedPromptLog: log, recorded } = ports

  app.get('/operator/moderation', { schema: { querystring: query } }, async (request, reply) => {
    const { category, user, before, done } = request.query
    const account = user ? await administration.accounts.find(user) : undefined
    const isKnown = !user || account !== undefined
    const after = before === undefined ? undefined : [before]
    const filter = { category: category || undefined, accountId: account?.id }
    const [refusals, categories] = await Promise.all([
      isKnown ? log.list(filter, { limit: REFUSALS_PER_PAGE, after }) : { items: [], next: undefined },
      log.categories(),
    ])
    const page = { signedIn: sessionOf(request), category, user, before, refusals, categories }
    const problem = isKnown ? undefined : 'There is no user of this name.'
    const said = { problem, done: done && 'The refusal is marked as wrong.' }
    return sendPage(reply, <ModerationPage {...page} {...said} />)
  })

  app.get('/operator/moderation/repeated', async (request, reply) =>
    sendPage(reply, <RepeatedPage signedIn={sessionOf(request)} accounts={await log.repeated(MOST_ACCOUNTS)} />),
  )

  app.post('/operator/moderation/:id/wrong', { schema: { params, body: chosen } }, async (request, reply) => {
    const { id } = request.params
    const actor = sessionOf(request).caller.account.username
    const marked = await recorded(
      (stores) => stores.refusedPromptLog.markWrong(id, actor),
      (it) =>
        it?.isNew
          ? { actor, action: `marked refused prompt ${id} as wrong`, target: it.username, reason: '' }
          : undefined,
    )
    if (!marked) throw new AppError('not_found', 'This refusal is no longer in the log: they are kept for 90 days.')
    return reply.redirect(`${address('/operator/moderation', { ...request.body, done: 'wrong' })}#refusal-${id}`, 303)
  })
}
