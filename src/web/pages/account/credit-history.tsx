import { PROMPT_BEGINNING, type SpendingEntry } from '../../../core/accounts/ledger.js'
import { CANCELED, isCancellation } from '../../../core/generations/failure-reason.js'
import { Cell, Pager } from '../../parts/page-parts.js'
import { Moment, number } from '../../parts/text.js'

interface CreditHistoryProps {
  readonly entries: readonly SpendingEntry[]
  readonly keyPrefix: string
  /** The cursor of the next page. */
  readonly older: string | null
  /** Whether this is a later page. */
  readonly later: boolean
}

/** Every credit that moved, and for what. */
export const CreditHistory = ({ entries, keyPrefix, older, later }: CreditHistoryProps) => (
  <div id="history" class="card">
    {entries.length === 0 ? (
      <>
        <h2>Credit history</h2>
        <p class="empty">
          No credits have moved yet. <a href="/playground">Make an image</a>
        </p>
      </>
    ) : (
      <section class="scroll" tabindex={0} aria-label="Credit history">
        <table class="stacking history">
          <caption>Credit history</caption>
          <thead>
            <tr>
              <th>What</th>
              <th>When</th>
              <th>By</th>
              <th class="number">Credits</th>
              <th class="number">Balance</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <Entry
                key={`${entry.kind} ${entry.createdAt.getTime()} ${entry.generationId}`}
                of={entry}
                {...{ keyPrefix }}
              />
            ))}
          </tbody>
        </table>
      </section>
    )}
    <Pager
      first={later ? '/account#history' : undefined}
      next={older ? `/account?cursor=${older}#history` : undefined}
    />
  </div>
)

const Entry = ({ of: entry, keyPrefix }: { of: SpendingEntry; keyPrefix: string }) => (
  <tr>
    <td class="first">
      <What {...entry} />
    </td>
    <Cell label="When">
      <Moment at={entry.createdAt} />
    </Cell>
    <Cell label="By">
      <By of={entry} prefix={keyPrefix} />
    </Cell>
    <Cell label="Credits" class={`number ${entry.delta > 0 ? 'good' : ''}`}>
      {signed(entry.delta)}
    </Cell>
    <Cell label="Balance" class="number">
      {number(entry.balance)}
    </Cell>
  </tr>
)

const WITHOUT_GENERATION = {
  grant: { badge: 'Added', text: 'Credits added to your account', tone: 'good' },
  purchase: { badge: 'Bought', text: 'Credits bought', tone: 'good' },
  adjustment: { badge: 'Corrected', text: 'Credits corrected', tone: '' },
  expire: { badge: 'Expired', text: 'Credits of a period that has ended', tone: 'bad' },
} as const

const What = ({ kind, prompt, error, note, slug }: SpendingEntry) => {
  if (kind !== 'charge' && kind !== 'refund') {
    const { badge, text, tone } = WITHOUT_GENERATION[kind]
    return (
      <>
        <span class={`badge ${tone}`}>{badge}</span> <bdi>{note || text}</bdi>
      </>
    )
  }
  const text = prompt && [...prompt].length === PROMPT_BEGINNING ? `${prompt}…` : prompt || 'An image'
  return (
    <>
      {kind === 'refund' ? <span class="badge good">Given back</span> : error && <Failure error={error} />}{' '}
      {slug ? (
        <a href={`/image/${slug}`}>
          <bdi class="prompt">{text}</bdi>
        </a>
      ) : (
        <bdi class="prompt">{text}</bdi>
      )}
      {kind === 'charge' && error && error !== CANCELED && <span class="reason small quiet">{error}</span>}
    </>
  )
}

const Failure = ({ error }: { error: string }) =>
  isCancellation(error) ? <span class="badge">Canceled</span> : <span class="badge bad">Failed</span>

const SOURCES = { plan: 'Plan', payment: 'Payment', operator: 'Operator' } as const

const By = ({ of: { source, keyKind, keyName, keyHint }, prefix }: { of: SpendingEntry; prefix: string }) => {
  if (keyKind === null) return <span class="quiet">{SOURCES[source]}</span>
  if (keyKind === 'website') return <>Website</>
  return (
    <>
      <bdi>{keyName || 'Unnamed key'}</bdi> <code class="reason quiet">{`${prefix}_…${keyHint}`}</code>
    </>
  )
}

const signed = (n: number) => `${n > 0 ? '+' : ''}${number(n)}`
