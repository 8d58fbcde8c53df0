import type { SignedIn } from '../../../core/accounts/session.js'
import { EmailField } from '../../parts/account-fields.js'
import { Layout } from '../../parts/layout.js'
import { Notices } from '../../parts/notices.js'

interface PageProps {
  readonly signedIn: SignedIn
  readonly problem?: string
  readonly notice?: string
}

/** Opened from a mail, by the one who is signed in: only the button confirms. */
export const ConfirmEmailPage = ({ signedIn, token }: PageProps & { readonly token: string }) => (
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
export const AddEmailPage = ({ signedIn, problem, notice }: PageProps) => (
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
