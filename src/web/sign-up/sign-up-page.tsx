import { PASSWORD_LENGTH } from '../../account/password.js'
import { Layout } from '../layout.js'

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
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="field">
        <label for="username">Username</label>
        <input
          id="username"
          name="username"
          value={username}
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          maxlength={64}
          required
        />
      </div>
      <div class="field">
        <label for="email">Email</label>
        <input
          id="email"
          name="email"
          type="email"
          value={email}
          autocomplete="email"
          maxlength={254}
          aria-describedby="email-hint"
          required
        />
        <p id="email-hint" class="quiet small">
          We send a link there to confirm that it is yours.
        </p>
      </div>
      <div class="field">
        <label for="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          autocomplete="new-password"
          minlength={PASSWORD_LENGTH.min}
          maxlength={PASSWORD_LENGTH.max}
          aria-describedby="password-hint"
          required
        />
        <p id="password-hint" class="quiet small">
          At least {PASSWORD_LENGTH.min} characters; a few words make a good one.
        </p>
      </div>
      <button class="primary" type="submit">
        Create account
      </button>
    </form>
    <p class="instead">
      You have one? <a href="/sign-in">Sign in</a>
    </p>
  </Layout>
)
