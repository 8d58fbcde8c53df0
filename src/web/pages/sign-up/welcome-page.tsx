import type { SignedIn } from '../../../core/accounts/session.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { waysToConfirm } from '../../parts/account-fields.js'
import { Layout, sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'

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
  const { welcome: words } = useTexts().signUp
  return (
    <Layout title={words.title} signedIn={signedIn} path="/welcome" class="narrow">
      <section class="card stack">
        <h1>{words.heading}</h1>
        <p>{words.signedIn(<bdi>{username}</bdi>)}</p>
        <ol class="stack">
          <li>
            <b>{words.address.step}</b> <AddressStep confirmed={signedIn.email} {...address} />
          </li>
          <li>
            <b>{words.plan.step}</b>{' '}
            {subscription?.status === 'active' ? (
              words.plan.yours(<bdi>{subscription.plan}</bdi>, credits)
            ) : sells ? (
              <>
                {words.plan.needed} <a href="/pricing">{words.plan.see}</a>
              </>
            ) : (
              words.plan.ask
            )}
          </li>
          <li>
            <b>{words.image.step}</b> {words.image.how}
          </li>
        </ol>
        <a class="button primary" href="/playground">
          {words.create}
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
  const { address: words } = useTexts().signUp.welcome
  if (confirmed) return <>{words.done(<bdi>{confirmed}</bdi>)}</>
  return (
    <>
      {pending && (
        <>
          {words.notYet(<bdi>{pending}</bdi>)} {waysToConfirm(sendsMail)}{' '}
        </>
      )}
      <a href="/account#email-address">{pending ? words.again : words.set}</a>
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
