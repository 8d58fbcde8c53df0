import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { changePassword } from '../../../core/accounts/password.js'
import { AppError } from '../../../core/errors.js'
import type { App } from '../../../http/shared/fastify-app.js'
import * as field from '../../../http/shared/fields.js'
import type { Cursor } from '../../../lib/page.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { refusalMessage } from '../../shared/refusal.js'
import { type SessionCookie, sessionOf } from '../../shared/session-cookie.js'
import { AccountPage, type AccountView } from './account-page.js'

const HISTORY_PAGE = 25
/** A session that was left open must not be a way to guess the password. */
const TRIES = { windowMs: 15 * 60_000, max: 12 } as const
const DONE = {
  password: 'Your password is changed. Every other browser is signed out.',
  session: 'That browser is signed out.',
} as const

// A cursor that is none is the beginning; nobody types one.
const query = z.object({
  cursor: field.page(1).cursor.catch(undefined),
  done: z.enum(['password', 'session']).optional().catch(undefined),
})
const passwords = z.object({ current: z.string().max(1000).catch(''), next: z.string().max(1000).catch('') })

/** Your account. */
export function accountPageRoutes(app: App, { ports, keyPrefix }: WebsiteOptions, cookies: SessionCookie): void {
  const { credentials, guesses, sessions, spending } = ports

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    after: Cursor | undefined,
    news: Pick<AccountView, 'done' | 'problem'>,
  ) => {
    const signedIn = sessionOf(request)
    const { id, username } = signedIn.caller.account
    const [own, held, days, { items, next }] = await Promise.all([
      credentials.find(username),
      sessions.list(id),
      spending.days(id),
      spending.entries(id, { limit: HISTORY_PAGE, after }),
    ])
    const view = { ...news, signedIn, keyPrefix, days, hasPassword: Boolean(own?.passwordHash), sessions: held }
    const history = { entries: items, older: field.cursorOf(next), later: after !== undefined }
    return sendPage(reply, <AccountPage {...view} {...history} />)
  }

  app.get('/account', { schema: { querystring: query } }, (request, reply) => {
    const { cursor, done } = request.query
    return show(request, reply, cursor, { done: done && DONE[done] })
  })

  app.post('/account/password', { schema: { body: passwords } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    try {
      const tried = await guesses.hit(`password:${signedIn.caller.account.id}`, TRIES.windowMs, TRIES.max)
      if (tried.current > TRIES.max)
        throw new AppError('rate_limited', 'Too many tries. Wait a quarter of an hour, then try again.')
      await changePassword(credentials, signedIn, request.body)
    } catch (error) {
      return show(request, reply, undefined, { problem: refusalMessage(error, reply) })
    }
    return reply.redirect('/account?done=password', 303)
  })

  app.post(
    '/account/sessions/:id/end',
    { schema: { params: z.object({ id: z.string() }) } },
    async (request, reply) => {
      // Another account's is not found, and neither is what is no ID: both are over already.
      const { id } = request.params
      if (z.guid().safeParse(id).success) await sessions.end(request.caller.account.id, id)
      return reply.redirect('/account?done=session', 303)
    },
  )

  app.post('/account/sessions/end', async (request, reply) => {
    await sessions.endAll(request.caller.account.id)
    await cookies.signOut(request, reply)
    return reply.redirect('/sign-in', 303)
  })
}
