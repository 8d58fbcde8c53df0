import { z } from 'zod'
import type { Session, SessionStore, SignedIn } from '../../../core/accounts/session.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { browserName, Moment } from '../../parts/text.js'
import type { SessionCookie } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'

/** Where the account is signed in. */
export const Sessions = ({ sessions, signedIn }: { sessions: readonly Session[]; signedIn: SignedIn }) => {
  const texts = useTexts()
  const { sessions: words } = texts.account
  return (
    <section class="card stack" aria-labelledby="sessions-title">
      <h2 id="sessions-title">{words.title}</h2>
      <ul class="sessions">
        {sessions.map(({ id, userAgent, seenAt }) => (
          <li key={id} class="row apart">
            <span>
              <span id={`session-${id}`}>{browserName(userAgent, texts)}</span>{' '}
              {id === signedIn.sessionId && <span class="badge good">{words.thisOne}</span>}
              <br />
              <span class="small quiet">{words.seen(<Moment at={seenAt} />)}</span>
            </span>
            {id !== signedIn.sessionId && (
              <form method="post" action={`/account/sessions/${id}/end`}>
                <button class="small" type="submit" aria-describedby={`session-${id}`}>
                  {words.end}
                </button>
              </form>
            )}
          </li>
        ))}
      </ul>
      <form method="post" action="/account/sessions/end">
        <button class="danger" type="submit" data-confirm={words.confirm}>
          {words.endAll}
        </button>
      </form>
    </section>
  )
}

/** Ends one session, or all. */
export function sessionRoutes(app: App, sessions: SessionStore, cookies: SessionCookie): void {
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
