import { Layout } from '../layout.js'

export interface SignInForm {
  /** Where to go afterwards. */
  readonly next: string
  readonly username?: string
  /** Why it did not work. */
  readonly problem?: string
}

/** Sign in with a password, or have a link sent. */
export const SignInPage = ({ next, username = '', problem }: SignInForm) => (
  <Layout title="Sign in" signedIn={null} path="/sign-in" class="narrow">
    <form class="card stack" method="post" action="/sign-in">
      <h1>Sign in</h1>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <input type="hidden" name="next" value={next} />
      <div class="field">
        <label for="username">Username or email</label>
        <input
          id="username"
          name="username"
          value={username}
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          maxlength={254}
          required
        />
      </div>
      <div class="field">
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" maxlength={200} />
      </div>
      <button class="primary" type="submit">
        Sign in
      </button>
    </form>
  </Layout>
)

/** Opened from a link: only its button signs in, since mail programs follow links by themselves. */
export const LinkPage = ({ token, next }: { token: string; next: string }) => (
  <Layout title="Sign in" signedIn={null} path="/sign-in" class="narrow">
    <form class="card stack" method="post" action="/sign-in/link">
      <h1>Welcome back</h1>
      <p>This link signs you in once, on this browser.</p>
      <input type="hidden" name="token" value={token} />
      <input type="hidden" name="next" value={next} />
      <button class="primary" type="submit">
        Sign in
      </button>
    </form>
  </Layout>
)
