import { EmailField, NewPasswordField, UsernameField } from '../../parts/account-fields.js'
import { Layout } from '../../parts/layout.js'
import { Notices } from '../../parts/notices.js'

interface SignUpForm {
  readonly username?: string
  readonly email?: string
  /** Why it did not work. */
  readonly problem?: string
}

/** Make an account. */
export const SignUpPage = ({ username, email, problem }: SignUpForm) => (
  <Layout title="Create an account" signedIn={null} path="/sign-up" class="narrow">
    <form class="card stack" method="post" action="/sign-up">
      <h1>Create an account</h1>
      <Notices problem={problem} />
      <UsernameField label="Username" value={username} />
      <EmailField value={email} hint="We send a link there to confirm that it is yours." />
      <NewPasswordField label="Password" name="password" hint="; a few words make a good one." />
      <button class="primary" type="submit">
        Create account
      </button>
    </form>
    <p class="instead">
      You have one? <a href="/sign-in">Sign in</a>
    </p>
  </Layout>
)
