import type { Session, SignedIn } from '../../../core/accounts/session.js'
import type { DaySpending, SpendingEntry } from '../../../core/accounts/spending.js'
import { NewPasswordField } from '../../parts/account-fields.js'
import { browserName } from '../../parts/browser-name.js'
import { Layout } from '../../parts/layout.js'
import { Notices } from '../../parts/notices.js'
import { Moment, number } from '../../parts/text.js'
import { CreditHistory } from './credit-history.js'
import { SpendingChart } from './spending-chart.js'

export interface AccountView {
  readonly signedIn: SignedIn
  readonly keyPrefix: string
  readonly hasPassword: boolean
  readonly sessions: readonly Session[]
  readonly days: readonly DaySpending[]
  readonly entries: readonly SpendingEntry[]
  readonly older: string | null
  readonly later: boolean
  /** What was done just now. */
  readonly done?: string | undefined
  /** Why the password was not changed. */
  readonly problem?: string | undefined
}

/** Credits and what they went to, plan, password and sessions. */
export const AccountPage = (view: AccountView) => {
  const { signedIn, days, done } = view
  const { username } = signedIn.caller.account
  return (
    <Layout title="Account" signedIn={signedIn} path="/account" class="column" style="account.css">
      <div class="stack heading">
        <h1>Account</h1>
        <p class="lead">
          <bdi>{username}</bdi>
          {signedIn.email && (
            <>
              {' · '}
              <bdi>{signedIn.email}</bdi>
            </>
          )}
        </p>
      </div>
      <Notices done={done} />
      <Holdings signedIn={signedIn} />
      <SpendingChart days={days} />
      <CreditHistory {...view} />
      <div class="halves">
        <Password {...view} />
        <Sessions {...view} />
      </div>
      <p class="quiet">
        See also your <a href="/keys">keys</a> and your <a href="/webhooks">webhooks</a>.
      </p>
    </Layout>
  )
}

const Holdings = ({ signedIn }: { signedIn: SignedIn }) => {
  const { credits, subscription } = signedIn.caller.account
  return (
    <div class="tiles">
      <section class="card tile" aria-labelledby="held">
        <h2 id="held" class="quiet">
          Credits
        </h2>
        <b>{number(credits)}</b>
        <p class="small quiet">An image costs one or more, as its model says.</p>
      </section>
      <section class="card tile" aria-labelledby="plan">
        <h2 id="plan" class="quiet">
          Plan
        </h2>
        <b>{subscription ? <bdi>{subscription.plan}</bdi> : 'None'}</b>
        <p class="small">
          {subscription ? (
            <>
              <span class={`badge ${subscription.status === 'active' ? 'good' : 'bad'}`}>{subscription.status}</span>{' '}
              <span class="quiet">
                {subscription.status === 'expired' ? 'since' : 'until'} <Moment at={subscription.endDate} only="date" />
              </span>
            </>
          ) : (
            <span class="quiet">Generating images needs an active subscription.</span>
          )}
        </p>
      </section>
    </div>
  )
}

const Password = ({ signedIn, hasPassword, problem }: AccountView) => (
  <section class="card" aria-labelledby="password-title">
    <form class="stack" method="post" action="/account/password">
      <h2 id="password-title">{hasPassword ? 'Change your password' : 'Set a password'}</h2>
      <Notices problem={problem} />
      {/* For password managers, which store it with the name. */}
      <input type="hidden" name="username" autocomplete="username" value={signedIn.caller.account.username} />
      {hasPassword && (
        <div class="field">
          <label for="current">Current password</label>
          <input
            id="current"
            name="current"
            type="password"
            autocomplete="current-password"
            autofocus={problem !== undefined}
            required
          />
        </div>
      )}
      <NewPasswordField label="New password" name="next" hint=". You stay signed in here, and nowhere else." />
      <button type="submit">{hasPassword ? 'Change password' : 'Set password'}</button>
    </form>
  </section>
)

const Sessions = ({ sessions, signedIn }: AccountView) => (
  <section class="card stack" aria-labelledby="sessions-title">
    <h2 id="sessions-title">Where you are signed in</h2>
    <ul class="sessions">
      {sessions.map(({ id, userAgent, seenAt }) => (
        <li key={id} class="row apart">
          <span>
            <span id={`session-${id}`}>{browserName(userAgent)}</span>{' '}
            {id === signedIn.sessionId && <span class="badge good">this one</span>}
            <br />
            <span class="small quiet">
              Last seen <Moment at={seenAt} />
            </span>
          </span>
          {id !== signedIn.sessionId && (
            <form method="post" action={`/account/sessions/${id}/end`}>
              <button class="small" type="submit" aria-describedby={`session-${id}`}>
                End
              </button>
            </form>
          )}
        </li>
      ))}
    </ul>
    <form method="post" action="/account/sessions/end">
      <button class="danger" type="submit" data-confirm="Sign out here, too?">
        Sign out everywhere
      </button>
    </form>
  </section>
)
