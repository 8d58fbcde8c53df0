import { z } from 'zod'
import { hashToken, type SignedIn } from '../../../core/accounts/session.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'

interface PageProps {
  readonly signedIn: SignedIn
  readonly token: string
  /** Why the link did not work. */
  readonly problem?: string
}

/** Opened from a mail, by the one who is signed in: only the button confirms. */
const ConfirmEmailPage = ({ signedIn, token, problem }: PageProps) => {
  const { confirm: words } = useTexts().signUp
  const { username } = signedIn.caller.account
  return (
    <Layout title={words.title} signedIn={signedIn} path="/confirm-email" class="narrow">
      <form class="card stack" method="post" action="/confirm-email">
        <h1>{words.title}</h1>
        <Notices problem={problem} />
        {problem ? (
          <a class="button" href="/account#email-address">
            {words.account}
          </a>
        ) : (
          <>
            <p>{words.what(<bdi>{username}</bdi>, signedIn.email && <bdi>{signedIn.email}</bdi>)}</p>
            <input type="hidden" name="token" value={token} />
            <button class="primary" type="submit">
              {words.submit}
            </button>
          </>
        )}
      </form>
    </Layout>
  )
}

const query = z.object({ token: z.string().max(100).catch('') })

/**
 * How an account gets the address of its owner. Whoever opens the link must be signed in to the account: an account that
 * a stranger made with somebody's address never gets it by their mistaken click.
 */
export function confirmEmailRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/confirm-email', { schema: { querystring: query } }, async (request, reply) => {
    const { token } = request.query
    if (token === '') return reply.redirect('/account#email-address', 303)
    return sendPage(reply, <ConfirmEmailPage signedIn={sessionOf(request)} token={token} />)
  })

  app.post('/confirm-email', { schema: { body: query } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const { token } = request.body
    const outcome = await ports.credentials.confirmEmail(signedIn.caller.account.id, hashToken(token))
    if (outcome === 'confirmed') return reply.redirect('/account?done=confirmed#email-address', 303)
    const problem = request.texts.signUp.confirm.problems[outcome]
    return sendPage(reply.code(409), <ConfirmEmailPage {...{ signedIn, token, problem }} />)
  })
}
