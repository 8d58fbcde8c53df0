import { z } from 'zod'
import { hashToken, LINK_MINUTES, type SignedIn } from '../../../core/accounts/session.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { networkOf } from '../../../http/shared/networks.js'
import { EmailField } from '../../parts/account-fields.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { emailAddress } from './sign-up-page.js'

interface PageProps {
  readonly signedIn: SignedIn
  readonly problem?: string
  readonly notice?: string
}

/** Opened from a mail, by the one who is signed in: only the button confirms. */
const ConfirmEmailPage = ({ signedIn, token }: PageProps & { readonly token: string }) => (
  <Layout title="Confirm your address" signedIn={signedIn} path="/confirm-email" class="narrow">
    <form class="card stack" method="post" action="/confirm-email">
      <h1>Confirm your address</h1>
      <p>
        The account <bdi>{signedIn.caller.account.username}</bdi> gets the address that this link was sent to.
      </p>
      <input type="hidden" name="token" value={token} />
      <button class="primary" type="submit">
        Confirm
      </button>
    </form>
  </Layout>
)

/** For an account without an address: have a link sent to one. */
const AddEmailPage = ({ signedIn, problem, notice }: PageProps) => (
  <Layout title="Your email address" signedIn={signedIn} path="/confirm-email" class="narrow">
    <form class="card stack" method="post" action="/confirm-email/send">
      <h1>Your email address</h1>
      <Notices done={notice} problem={problem} />
      {signedIn.email ? (
        <p>
          Your account has the address <bdi>{signedIn.email}</bdi>. Links to sign in go there.
        </p>
      ) : (
        <>
          <p class="quiet">With an address you can have links sent that sign you in without a password.</p>
          <EmailField />
          <button class="primary" type="submit">
            Send me a link
          </button>
        </>
      )}
    </form>
  </Layout>
)

const SENT = `A link is on its way. It works once, and ends in ${LINK_MINUTES} minutes.`
const WINDOW_MS = 15 * 60_000
const MAILS_PER_NETWORK = 10

const PROBLEMS = {
  over: 'This link was used before, is too old, or was sent for another account. Have a new one sent.',
  taken: 'Another account has this address. Sign in to that one, or use another address.',
} as const
const NO_ADDRESS = 'That is no email address. Check it.'
const TOO_MANY = 'Too many links were asked for from here. Wait a quarter of an hour.'

const query = z.object({ token: z.string().max(100).catch('') })
const sendBody = z.object({ email: z.string().trim().catch('') })

/**
 * How an account gets the address of its owner. Whoever opens the link must be signed in to the account: an account that
 * a stranger made with somebody's address never gets it by their mistaken click.
 */
export function confirmEmailRoutes(app: App, { ports }: WebsiteOptions): void {
  const { credentials, guesses, mails } = ports

  app.get('/confirm-email', { schema: { querystring: query } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const { token } = request.query
    return sendPage(
      reply,
      token ? <ConfirmEmailPage signedIn={signedIn} token={token} /> : <AddEmailPage signedIn={signedIn} />,
    )
  })

  app.post('/confirm-email', { schema: { body: query } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const outcome = await credentials.confirmEmail(signedIn.caller.account.id, hashToken(request.body.token))
    if (outcome === 'confirmed') return reply.redirect('/confirm-email', 303)
    return sendPage(reply.code(409), <AddEmailPage signedIn={signedIn} problem={PROBLEMS[outcome]} />)
  })

  app.post('/confirm-email/send', { schema: { body: sendBody } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const { email } = request.body
    const answer = (status: number, said: { problem: string } | { notice: string }) =>
      sendPage(reply.code(status), <AddEmailPage signedIn={signedIn} {...said} />)
    // Only the operator changes an address: a stolen session must not become a stolen account.
    if (signedIn.email) return reply.redirect('/confirm-email', 303)
    if (!emailAddress.safeParse(email).success) return answer(400, { problem: NO_ADDRESS })
    const asked = await guesses.hit(`sign-in:mail:${networkOf(request.ip)}`, WINDOW_MS, MAILS_PER_NETWORK)
    if (asked.current > MAILS_PER_NETWORK) return answer(429, { problem: TOO_MANY })
    mails.sendConfirmation(signedIn.caller.account.id, email)
    return answer(200, { notice: SENT })
  })
}
