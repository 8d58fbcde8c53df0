import type { SignedIn } from '../../../core/accounts/session.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { waysToConfirm } from '../../parts/account-fields.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { counted } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'

interface WelcomeProps {
  readonly signedIn: SignedIn
  /** The address that waits to be confirmed. */
  readonly pending: string | undefined
  readonly sendsMail: boolean
  /** Whether plans are sold here. */
  readonly sells: boolean
}

/** What comes next for who has just made an account. */
const WelcomePage = ({ signedIn, sells, ...address }: WelcomeProps) => {
  const { username, credits, subscription } = signedIn.caller.account
  return (
    <Layout title="Welcome" signedIn={signedIn} path="/welcome" class="narrow">
      <section class="card stack">
        <h1>Your account is ready</h1>
        <p>
          You are signed in as <bdi>{username}</bdi>. This comes next:
        </p>
        <ol class="stack">
          <li>
            <b>Confirm your address.</b> <AddressStep confirmed={signedIn.email} {...address} />
          </li>
          <li>
            <b>Get a plan.</b>{' '}
            {subscription?.status === 'active' ? (
              <>
                You have the plan <bdi>{subscription.plan}</bdi> and {counted(credits, 'credit')}.
              </>
            ) : sells ? (
              <>
                Making images needs one. <a href="/pricing">See the plans</a>
              </>
            ) : (
              'Making images needs one: ask the operator of this site.'
            )}
          </li>
          <li>
            <b>Make your first image.</b> Write what it should show, choose a model and press Generate.
          </li>
        </ol>
        <a class="button primary" href="/playground">
          Go to Create
        </a>
      </section>
    </Layout>
  )
}

const AddressStep = ({
  confirmed,
  pending,
  sendsMail,
}: Pick<WelcomeProps, 'pending' | 'sendsMail'> & { confirmed: string | null }) => {
  if (confirmed)
    return (
      <>
        Done: links to sign in go to <bdi>{confirmed}</bdi>.
      </>
    )
  return (
    <>
      {pending && (
        <>
          <bdi>{pending}</bdi> is not confirmed yet. {waysToConfirm(sendsMail)}{' '}
        </>
      )}
      <a href="/account#email-address">{pending ? 'Send it again, or change the address' : 'Set your address'}</a>
    </>
  )
}

/** The page after sign-up. */
export function welcomeRoutes(app: App, { ports, sendsMail, shop }: WebsiteOptions): void {
  app.get('/welcome', async (request, reply) => {
    const signedIn = sessionOf(request)
    const pending = (await ports.credentials.pendingEmail(signedIn.caller.account.id))?.email
    return sendPage(reply, <WelcomePage {...{ signedIn, pending, sendsMail }} sells={shop !== undefined} />)
  })
}
