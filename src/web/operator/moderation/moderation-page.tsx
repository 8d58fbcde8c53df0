import type { SignedIn } from '../../../core/accounts/session.js'
import type { LoggedRefusal } from '../../../core/operator/refused-prompts.js'
import type { Page } from '../../../lib/page.js'
import { Pager } from '../../parts/lists.js'
import { Notices } from '../../parts/notices.js'
import { address, Moment } from '../../parts/text.js'
import { OperatorLayout } from '../parts/operator-layout.js'

interface ModerationPageProps {
  readonly signedIn: SignedIn
  readonly category: string
  readonly user: string
  readonly categories: readonly string[]
  readonly refusals: Page<LoggedRefusal>
  /** Where this page begins; undefined: at the newest. */
  readonly before: number | undefined
  readonly done?: string | undefined
  readonly problem?: string | undefined
}

const PATH = '/operator/moderation'

/** The prompts that moderation refused. */
export const ModerationPage = ({
  signedIn,
  refusals,
  categories,
  before,
  done,
  problem,
  ...chosen
}: ModerationPageProps) => {
  const { category, user } = chosen
  const to = (place?: number) => address(PATH, { ...chosen, before: place })
  return (
    <OperatorLayout
      title="Moderation"
      signedIn={signedIn}
      path={PATH}
      aside={<a href={`${PATH}/repeated`}>Repeated refusals about minors</a>}
    >
      <Notices done={done} problem={problem} />
      <search>
        <form class="row search" method="get" action={PATH}>
          <div class="field">
            <label for="category">Category</label>
            <select id="category" name="category">
              <option value="">All</option>
              {[...new Set([...categories, ...(category ? [category] : [])])].map((it) => (
                <option value={it} selected={it === category}>
                  {it}
                </option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for="user">Username</label>
            <input
              id="user"
              name="user"
              type="search"
              value={user}
              maxlength={64}
              autocapitalize="none"
              spellcheck={false}
            />
          </div>
          <button type="submit">Filter</button>
        </form>
      </search>
      {refusals.items.length === 0 ? (
        <section class="card empty">
          <p>{category || user ? 'No refused prompt fits.' : 'No prompt was refused in the last 90 days.'}</p>
        </section>
      ) : (
        <section class="card stack" aria-label="Refused prompts">
          {refusals.items.map((refusal) => (
            <Refusal refusal={refusal} hidden={{ category, user, before }} />
          ))}
        </section>
      )}
      <Pager first={before === undefined ? undefined : to()} next={refusals.next && to(refusals.next[0])} />
    </OperatorLayout>
  )
}

const FIELDS: Readonly<Record<string, string>> = { prompt: 'prompt', negative_prompt: 'negative prompt' }

interface RefusalProps {
  readonly refusal: LoggedRefusal
  /** Where to come back to. */
  readonly hidden: Readonly<Record<string, string | number | undefined>>
}

const Refusal = ({ refusal: it, hidden }: RefusalProps) => (
  <article class="entry" id={`refusal-${it.id}`} aria-label={`Refusal ${it.id}`}>
    <div class="grow">
      <div class="row">
        <span class="badge bad">
          <bdi>{it.category}</bdi>
        </span>
        <a class="user" href={`/operator/users/${encodeURIComponent(it.username)}`}>
          {it.username}
        </a>
        <span class="quiet small">
          <Moment at={it.at} />
        </span>
      </div>
      <p class="small">
        <span class="quiet">In the {FIELDS[it.parameter] ?? it.parameter}</span>
        {it.matched.length > 0 && (
          <>
            <span class="quiet">:</span>{' '}
            {it.matched.map((word) => (
              <>
                <code class="matched">
                  <bdi>{word}</bdi>
                </code>{' '}
              </>
            ))}
          </>
        )}
      </p>
      <details class="text">
        <summary>Show the text</summary>
        <p dir="auto">{it.prompt}</p>
      </details>
    </div>
    {it.wrongAt ? (
      <p class="small verdict">
        <span class="badge">marked as wrong</span>
        <span class="quiet">
          <bdi>{it.wrongBy}</bdi>, <Moment at={it.wrongAt} />
        </span>
      </p>
    ) : (
      <form method="post" action={`${PATH}/${it.id}/wrong`}>
        {Object.entries(hidden).map(
          ([name, value]) => Boolean(value) && <input type="hidden" name={name} value={value} />,
        )}
        <button class="small" type="submit">
          Mark as wrong
        </button>
      </form>
    )}
  </article>
)
