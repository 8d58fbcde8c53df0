import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { type LoggedRefusal, markWrong, type RepeatedRefusals } from '../../../core/operator/refused-prompts.js'
import type { App } from '../../../http/shared/fastify-app.js'
import type { Page } from '../../../lib/page.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf } from '../../parts/operator-forms.js'
import { Field, Notices, Pager } from '../../parts/page-parts.js'
import { address, Moment, number } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Actor, Table, UserLink } from '../parts/operator-parts.js'

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
const ModerationPage = ({ signedIn, refusals, categories, before, done, problem, ...chosen }: ModerationPageProps) => {
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
          <Field
            id="user"
            label="Username"
            type="search"
            value={user}
            maxlength={64}
            autocapitalize="none"
            spellcheck={false}
          />
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
        <UserLink username={it.username} />
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
        {it.prompt ? <p dir="auto">{it.prompt}</p> : <p class="quiet">It is no longer kept.</p>}
      </details>
    </div>
    {it.wrongAt ? (
      <p class="small verdict">
        <span class="badge">marked as wrong</span>
        <span class="quiet">
          <Actor actor={it.wrongBy ?? ''} />, <Moment at={it.wrongAt} />
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

const REFUSALS_PER_PAGE = 50
const MOST_ACCOUNTS = 100

const word = (maxLength: number) =>
  z
    .string()
    .catch('')
    .transform((text) => text.replaceAll('\0', '').trim().slice(0, maxLength))
const place = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER)
/** Which refusals are shown. */
const chosen = z.object({ category: word(200), user: word(64), before: place.optional().catch(undefined) })
const query = chosen.extend({ done: z.literal('wrong').optional().catch(undefined) })
const params = z.object({ id: place })

/** The log of refused prompts. */
export function moderationPageRoutes(app: App, { ports }: WebsiteOptions): void {
  const { administration, refusedPromptLog: log } = ports

  app.get('/operator/moderation', { schema: { querystring: query } }, async (request, reply) => {
    const { category, user, before, done } = request.query
    const account = user ? await administration.accounts.find(user) : undefined
    const isKnown = !user || account !== undefined
    const after = before === undefined ? undefined : [before]
    const filter = { category: category || undefined, accountId: account?.id }
    const [refusals, categories] = await Promise.all([
      isKnown ? log.list(filter, { limit: REFUSALS_PER_PAGE, after }) : { items: [], next: undefined },
      log.categories(),
    ])
    const page = { signedIn: sessionOf(request), category, user, before, refusals, categories }
    const problem = isKnown ? undefined : 'There is no user of this name.'
    const said = { problem, done: done && 'The refusal is marked as wrong.' }
    return sendPage(reply, <ModerationPage {...page} {...said} />)
  })

  app.get('/operator/moderation/repeated', async (request, reply) =>
    sendPage(reply, <RepeatedPage signedIn={sessionOf(request)} accounts={await log.repeated(MOST_ACCOUNTS)} />),
  )

  app.post('/operator/moderation/:id/wrong', { schema: { params, body: chosen } }, async (request, reply) => {
    const { id } = request.params
    await markWrong(actingOf(ports, request, ''), id)
    return reply.redirect(`${address('/operator/moderation', { ...request.body, done: 'wrong' })}#refusal-${id}`, 303)
  })
}

interface RepeatedPageProps {
  readonly signedIn: SignedIn
  readonly accounts: readonly RepeatedRefusals[]
}

/** The accounts that were refused something about minors more than once. */
const RepeatedPage = ({ signedIn, accounts }: RepeatedPageProps) => (
  <OperatorLayout
    title="Repeated refusals about minors"
    signedIn={signedIn}
    path={`${PATH}/repeated`}
    aside={<a href={PATH}>All refusals</a>}
  >
    <Table
      name="Accounts with more than one in the last 30 days"
      columns={[['User'], ['Refusals', 'number'], ['First'], ['Last']]}
      empty="No account had two such refusals."
    >
      {accounts.map(({ username, count, firstAt, lastAt }) => (
        <tr>
          <td>
            <UserLink username={username} />
          </td>
          <td class="number">
            <a href={address(PATH, { user: username })}>{number(count)}</a>
          </td>
          <td class="when">
            <Moment at={firstAt} />
          </td>
          <td class="when">
            <Moment at={lastAt} />
          </td>
        </tr>
      ))}
    </Table>
  </OperatorLayout>
)
