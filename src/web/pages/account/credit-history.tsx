import { PROMPT_BEGINNING, type SpendingEntry } from '../../../core/accounts/ledger.js'
import { CANCELED, isCancellation } from '../../../core/generations/failure-reason.js'
import { Cell, Pager } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'
import { inWords } from '../../texts/refusals.js'
import { useTexts } from '../../texts/texts.js'

interface CreditHistoryProps {
  readonly entries: readonly SpendingEntry[]
  readonly keyPrefix: string
  /** The cursor of the next page. */
  readonly older: string | null
  /** Whether this is a later page. */
  readonly later: boolean
}

/** Every credit that moved, and for what. */
export const CreditHistory = ({ entries, keyPrefix, older, later }: CreditHistoryProps) => {
  const { history: words } = useTexts().account
  return (
    <div id="history" class="card">
      {entries.length === 0 ? (
        <>
          <h2>{words.title}</h2>
          <p class="empty">
            {words.none((text) => (
              <a href="/playground">{text}</a>
            ))}
          </p>
        </>
      ) : (
        <section class="scroll" tabindex={0} aria-label={words.title}>
          <table class="stacking history">
            <caption>{words.title}</caption>
            <thead>
              <tr>
                <th>{words.what}</th>
                <th>{words.when}</th>
                <th>{words.by}</th>
                <th class="number">{words.credits}</th>
                <th class="number">{words.balance}</th>
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
}

const Entry = ({ of: entry, keyPrefix }: { of: SpendingEntry; keyPrefix: string }) => {
  const { account, number } = useTexts()
  const { history: words } = account
  return (
    <tr>
      <td class="first">
        <What {...entry} />
      </td>
      <Cell label={words.when}>
        <Moment at={entry.createdAt} />
      </Cell>
      <Cell label={words.by}>
        <By of={entry} prefix={keyPrefix} />
      </Cell>
      <Cell label={words.credits} class={`number ${entry.delta > 0 ? 'good' : ''}`}>
        {entry.delta > 0 ? '+' : ''}
        {number(entry.delta)}
      </Cell>
      <Cell label={words.balance} class="number">
        {number(entry.balance)}
      </Cell>
    </tr>
  )
}

const TONES = { grant: 'good', purchase: 'good', adjustment: '', expire: 'bad' } as const

const What = ({ kind, prompt, error, note, slug, source }: SpendingEntry) => {
  const texts = useTexts()
  const { history: words } = texts.account
  if (kind !== 'charge' && kind !== 'refund') {
    const { badge, text } = words.kinds[kind]
    const said = note && (source === 'operator' ? note : words.note(note))
    return (
      <>
        <span class={`badge ${TONES[kind]}`}>{badge}</span> <bdi>{said || text}</bdi>
      </>
    )
  }
  const text = prompt && [...prompt].length === PROMPT_BEGINNING ? `${prompt}…` : prompt || words.image
  return (
    <>
      {kind === 'refund' ? (
        <span class="badge good">{words.givenBack}</span>
      ) : (
        error && (
          <span class={`badge ${isCancellation(error) ? '' : 'bad'}`}>
            {isCancellation(error) ? words.canceled : words.failed}
          </span>
        )
      )}{' '}
      {slug ? (
        <a href={`/image/${slug}`}>
          <bdi class="prompt">{text}</bdi>
        </a>
      ) : (
        <bdi class="prompt">{text}</bdi>
      )}
      {kind === 'charge' && error && error !== CANCELED && (
        <span class="reason small quiet">{inWords(error, texts)}</span>
      )}
    </>
  )
}

const By = ({ of: { source, keyKind, keyName, keyHint }, prefix }: { of: SpendingEntry; prefix: string }) => {
  const { history: words } = useTexts().account
  if (keyKind === null) return <span class="quiet">{words.sources[source]}</span>
  if (keyKind === 'website') return <>{words.website}</>
  return (
    <>
      <bdi>{keyName || words.unnamedKey}</bdi> <code class="reason quiet">{`${prefix}_…${keyHint}`}</code>
    </>
  )
}
