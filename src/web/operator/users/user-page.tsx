import { shownKey } from '../../../core/accounts/api-key.js'
import type { LedgerEntry } from '../../../core/accounts/ledger.js'
import type { CurrentPeriod } from '../../../core/accounts/plan.js'
import type { Session, SignedIn } from '../../../core/accounts/session.js'
import type { OwnSubscription } from '../../../core/billing/shop.js'
import type { AdministeredAccount } from '../../../core/operator/accounts.js'
import type { ActiveGeneration } from '../../../core/operator/administration.js'
import type { AdministeredKey } from '../../../core/operator/keys.js'
import type { ListedPlan } from '../../../core/operator/plans.js'
import type { Page } from '../../../lib/page.js'
import { Act } from '../../parts/operator-forms.js'
import { Notices, Pager, StatusBadge } from '../../parts/page-parts.js'
import { address, browserName, counted, Moment, number } from '../../parts/text.js'
import { en } from '../../texts/texts.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { GenerationLink, Table } from '../parts/operator-parts.js'
import { NewKeyForm, type Secret, SecretCard, SignInLinkForm, type TypedSecret } from './secrets.js'
import { AccountCard, CorrectForm, type CreditValues, GrantForm, SubscriptionCard } from './user-forms.js'

interface UserPageProps {
  readonly signedIn: SignedIn
  readonly account: AdministeredAccount
  readonly entries: Page<LedgerEntry>
  /** Whether the ledger is shown from its newest entry. */
  readonly isFirst: boolean
  readonly keys: readonly AdministeredKey[]
  readonly keyPrefix: string
  readonly sessions: readonly Session[]
  readonly active: readonly ActiveGeneration[]
  readonly current: CurrentPeriod | undefined
  readonly paid: OwnSubscription | undefined
  readonly plans: readonly ListedPlan[]
  readonly grant: CreditValues
  readonly correction: CreditValues
  readonly done?: string | undefined
  readonly problem?: string | undefined
  readonly secret?: Secret | undefined
  /** What was typed into the forms for a key and a sign-in link, by the act. */
  readonly typed?: Readonly<Record<string, TypedSecret>>
}

/** One user: all about them, and what an operator may do. */
export const UserPage = ({ signedIn, account, done, problem, secret, ...props }: UserPageProps) => {
  const { username, role, deletedAt } = account
  const path = `/operator/users/${encodeURIComponent(username)}`
  const isOwn = account.id === signedIn.caller.account.id
  return (
    <OperatorLayout
      title={username}
      signedIn={signedIn}
      path={path}
      aside={
        <div class="row">
          {isOwn && <span class="badge">you</span>}
          {role === 'operator' && <span class="badge">operator</span>}
          {deletedAt && <span class="badge bad">deleted</span>}
        </div>
      }
    >
      <Notices done={done} problem={problem} />
      {secret && <SecretCard secret={secret} />}
      <Tiles account={account} {...props} />
      <div class="user-columns">
        <div class="stack">
          {props.active.length > 0 && <ActiveCard path={path} {...props} />}
          <LedgerCard path={path} account={account} {...props} />
          <KeysCard path={path} isDeleted={deletedAt !== null} {...props} />
          <SessionsCard path={path} isDeleted={deletedAt !== null} {...props} />
        </div>
        <div class="stack">
          {!deletedAt && (
            <>
              <GrantForm path={path} values={props.grant} />
              <SubscriptionCard path={path} subscription={account.subscription} {...props} />
              <CorrectForm path={path} values={props.correction} />
            </>
          )}
          <AccountCard path={path} account={account} isOwn={isOwn} />
        </div>
      </div>
    </OperatorLayout>
  )
}

type CardProps = Omit<UserPageProps, 'signedIn' | 'account' | 'secret'> & { readonly path: string }

const Tiles = ({ account, keys, sessions }: Pick<UserPageProps, 'account' | 'keys' | 'sessions'>) => {
  const seen = [...keys.map((it) => it.lastUsedAt), ...sessions.map((it) => it.seenAt)].filter((it) => it !== null)
  const last = seen.length > 0 ? new Date(Math.max(...seen.map((it) => it.getTime()))) : undefined
  const { credits, subscription, createdAt } = account
  return (
    <dl class="tiles">
      <div class="card tile">
        <dt class="quiet small">Credits</dt>
        <dd>
          <b class={credits < 0 ? 'bad' : undefined}>{number(credits)}</b>
        </dd>
      </div>
      <div class="card tile">
        <dt class="quiet small">Plan</dt>
        <dd class="row">
          <b>
            <bdi>{subscription?.plan ?? 'None'}</bdi>
          </b>
          {subscription && <StatusBadge status={subscription.status} />}
        </dd>
      </div>
      <div class="card tile">
        <dt class="quiet small">Last seen</dt>
        <dd class="when">{last ? <Moment at={last} /> : 'Never'}</dd>
      </div>
      <div class="card tile">
        <dt class="quiet small">User since</dt>
        <dd class="when">
          <Moment at={createdAt} />
        </dd>
      </div>
    </dl>
  )
}

const ActiveCard = ({ active, path }: CardProps) => (
  <section class="card stack" aria-labelledby="active">
    <h2 id="active">Active generation{active.length > 1 && 's'}</h2>
    {active.map(({ id, status, modelName, batchSize, cost, createdAt }) => (
      <div class="entry">
        <div>
          <a href={`/operator/generations/${id}`}>
            <code>{id}</code>
          </a>{' '}
          <span class="badge">{status}</span>
          <div class="quiet small">
            <bdi>{modelName}</bdi>, {counted(batchSize, 'image')}, {counted(cost, 'credit')}, <Moment at={createdAt} />
          </div>
        </div>
        <Act id={`cancel-${id}`} action={`${path}/generations/cancel`} name="Cancel" button="Cancel generation" of={id}>
          <input type="hidden" name="id" value={id} />
        </Act>
      </div>
    ))}
  </section>
)

const LedgerCard = ({ account, entries, isFirst, path }: CardProps & Pick<UserPageProps, 'account'>) => {
  const id = account.deletedAt ? account.id : ''
  return (
    <div id="ledger" class="stack">
      <Table
        name="Credit history"
        columns={[['When'], ['What'], ['Credits', 'number'], ['Balance', 'number']]}
        empty="No credits ever moved."
      >
        {entries.items.map(({ createdAt, kind, delta, balance, generationId, note }) => (
          <tr>
            <td class="when">
              <Moment at={createdAt} />
            </td>
            <td class="what">
              {KINDS[kind]}
              <div class="quiet small">{generationId ? <GenerationLink id={generationId} /> : <bdi>{note}</bdi>}</div>
            </td>
            <td class={`number ${delta > 0 ? 'good' : ''}`}>
              {delta > 0 && '+'}
              {number(delta)}
            </td>
            <td class="number">{number(balance)}</td>
          </tr>
        ))}
      </Table>
      <Pager
        first={isFirst ? undefined : `${address(path, { id })}#ledger`}
        next={entries.next && `${address(path, { id, ledger: entries.next[0] })}#ledger`}
      />
    </div>
  )
}

const KINDS = {
  grant: 'Granted',
  purchase: 'Bought',
  charge: 'Charged',
  refund: 'Given back',
  adjustment: 'Corrected',
  expire: 'Expired',
} as const

const KeysCard = ({ keys, keyPrefix, path, isDeleted, typed }: CardProps & { readonly isDeleted: boolean }) => (
  <section class="card stack" aria-labelledby="keys">
    <h2 id="keys">Keys</h2>
    {!isDeleted && <NewKeyForm path={path} typed={typed?.keys} />}
    {keys.length === 0 && <p class="quiet">No keys.</p>}
    {keys.map(({ id, kind, scope, name, hint, createdAt, lastUsedAt, revokedAt }) => (
      <div class="entry" id={`key-${id}`}>
        <div>
          <bdi>{name || 'Unnamed'}</bdi> <code class="quiet">{shownKey({ kind, hint }, keyPrefix)}</code>{' '}
          {kind !== 'personal' && <span class="badge">{scope ? `${kind}: ${scope}` : kind}</span>}{' '}
          {revokedAt && <span class="badge bad">revoked</span>}
          <div class="quiet small">
            Created <Moment at={createdAt} />, {lastUsedAt ? 'last used ' : 'never used'}
            {lastUsedAt && <Moment at={lastUsedAt} />}
          </div>
        </div>
        {!revokedAt && !isDeleted && (
          <Act id={`revoke-${id}`} action={`${path}/keys/revoke`} name="Revoke" button="Revoke key" of={`…${hint}`}>
            <input type="hidden" name="id" value={id} />
          </Act>
        )}
      </div>
    ))}
  </section>
)

const SessionsCard = ({ sessions, path, isDeleted, typed }: CardProps & { readonly isDeleted: boolean }) => (
  <section class="card stack" aria-labelledby="sessions">
    <h2 id="sessions">Sessions</h2>
    {!isDeleted && <SignInLinkForm path={path} typed={typed?.['sign-in-link']} />}
    {sessions.length === 0 && <p class="quiet">Signed in nowhere.</p>}
    {sessions.map(({ userAgent, createdAt, seenAt }) => (
      <div class="entry">
        <div>
          <span title={userAgent ?? undefined}>{browserName(userAgent, en)}</span>
          <div class="quiet small">
            Since <Moment at={createdAt} />, seen <Moment at={seenAt} />
          </div>
        </div>
      </div>
    ))}
    {sessions.length > 0 && (
      <Act id="end-sessions" action={`${path}/sessions/end`} name="End all sessions" button="Sign out everywhere" />
    )}
  </section>
)
