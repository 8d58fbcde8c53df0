import { PASSWORD_LENGTH } from '../../../core/accounts/password.js'
import { LINK_MINUTES } from '../../../core/accounts/session.js'
import { MAX_EMAIL_LENGTH, UsernameField } from '../../parts/account-fields.js'
import { Layout } from '../../parts/layout.js'
import { Notices } from '../../parts/notices.js'

export interface SignInForm {
  /** Where to go afterwards. */
  readonly next: string
  readonly username?: string
  /** Why it did not work. */
  readonly problem?: string
  /** A link was asked for. */
  readonly sent?: boolean
}

interface SignInPageProps extends SignInForm {
  /** The identity provider's host, where there is one. */
  readonly provider: string | undefined
  readonly signUpIsOpen: boolean
}

const SENT = `If there is an account with that name or address, a link is on its way. It works once, and ends in ${LINK_MINUTES} minutes.`

/** Sign in with a password, have a link sent, or go to the identity provider. */
export const SignInPage = ({ next, username = '', problem, sent, provider, signUpIsOpen }: SignInPageProps) => (
  <Layout title="Sign in" signedIn={null} path="/sign-in" class="narrow">
    <form class="card stack" method="post" action="/sign-in">
      <h1>Sign in</h1>
      <Notices done={sent ? SENT : undefined} problem={problem} />
      <input type="hidden" name="next" value={next} />
      <UsernameField label="Username or email" value={username} maxLength={MAX_EMAIL_LENGTH} />
      <div class="field">
        <label for="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          autocomplete="current-password"
          maxlength={PASSWORD_LENGTH.max}
        />
      </div>
      <button class="primary" type="submit">
        Sign in
      </button>
      <p class="or" aria-hidden="true">
        or, without a password
      </p>
      <button type="submit" formaction="/sign-in/mail">
        Email me a link
      </button>
      {provider && (
        <a class="button" href={`/sign-in/oidc?next=${encodeURIComponent(next)}`}>
          Sign in with {provider}
        </a>
      )}
    </form>
    {signUpIsOpen && (
      <p class="instead">
        New here? <a href="/sign-up">Create an account</a>
      </p>
    )}
  </Layout>
)

interface LinkPageProps {
  readonly username: string
  readonly token: string
  readonly next: string
}

/** Opened from a link: only its button signs in, since mail programs follow links by themselves. */
export const LinkPage = ({ username, token, next }: LinkPageProps) => (
  <Layout title="Sign in" signedIn={null} path="/sign-in" class="narrow">
    <form class="card stack" method="post" action="/sign-in/link">
      <h1>Welcome to Easel</h1>
      <p>
        Press the button to sign in as <bdi>{username}</bdi> with this browser. The link works once.
      </p>
      <input type="hidden" name="token" value={token} />
      <input type="hidden" name="next" value={next} />
      <button class="primary" type="submit">
        Sign in
      </button>
    </form>
  </Layout>
)
