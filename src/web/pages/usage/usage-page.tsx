import type { CurrentPeriod } from '../../../core/accounts/plan.js'
import type { SignedIn } from '../../../core/accounts/session.js'
import {
  type DaySpan,
  daysOf,
  requireSpan,
  totalOf,
  USAGE_GROUPS,
  type Usage,
  type UsageCounts,
  type UsageOf,
  usageBy,
} from '../../../core/accounts/usage.js'
import { usageCsv } from '../../../http/personal-api/accounts/usage-routes.js'
import type { App } from '../../../http/shared/fastify-app.js'
import * as field from '../../../http/shared/fields.js'
import { DayChart } from '../../parts/day-chart.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Outlook } from '../../parts/outlook.js'
import { Cell, Notices } from '../../parts/page-parts.js'
import { SpanForm, sendCsv, shownSpan, spanQuery } from '../../parts/span-form.js'
import { address } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'

const PATH = '/usage'

interface UsageView {
  readonly signedIn: SignedIn
  readonly keyPrefix: string
  readonly span: DaySpan
  readonly rows: readonly Usage[]
  readonly current: CurrentPeriod | undefined
  /** Why another time is shown than was asked for. */
  readonly problem: string | undefined
}

/** What the account has made, by day, key and model. */
const UsagePage = ({ signedIn, keyPrefix, span, rows, current, problem }: UsageView) => {
  const days = everyDay(rows, span)
  const { usage: words, credits: counted } = useTexts()
  return (
    <Layout title={words.title} signedIn={signedIn} path={PATH} class="column" style="account.css">
      <div class="stack heading">
        <h1>{words.title}</h1>
        <p class="lead">{words.lead}</p>
      </div>
      <Notices problem={problem} />
      {current && (
        <section class="card stack heading" aria-labelledby="left">
          <h2 id="left">{words.left(counted(signedIn.caller.account.credits))}</h2>
          <Outlook of={current} />
        </section>
      )}
      <SpanForm path={PATH} span={span} />
      <DayChart
        id="credits-by-day"
        title={words.creditsSpent}
        noun="credit"
        days={days}
        valueOf={({ credits }) => credits}
      />
      <DayChart id="images-by-day" title={words.imagesMade} noun="image" days={days} valueOf={({ images }) => images} />
      <Groups
        name={words.byKey}
        rows={usageBy(rows, 'key')}
        nameOf={({ keyName, keyHint }) => (
          <>
            <bdi>{keyName || words.unnamedKey}</bdi>{' '}
            {keyHint && <code class="reason quiet">{`${keyPrefix}_…${keyHint}`}</code>}
          </>
        )}
      />
      <Groups name={words.byModel} rows={usageBy(rows, 'model')} nameOf={({ modelName }) => <bdi>{modelName}</bdi>} />
      <Downloads span={span} />
    </Layout>
  )
}

function everyDay(rows: readonly Usage[], span: DaySpan): UsageOf<'day'>[] {
  const known = new Map(usageBy(rows, 'day').map((it) => [it.day, it]))
  return daysOf(span).map((day) => known.get(day) ?? { day, ...totalOf([]) })
}

interface GroupsProps<Row> {
  readonly name: string
  readonly rows: readonly Row[]
  readonly nameOf: (row: Row) => preact.JSX.Element
}

function Groups<Row extends UsageCounts>({ name, rows, nameOf }: GroupsProps<Row>) {
  const { usage: words, number } = useTexts()
  return (
    <div class="card">
      {rows.length === 0 ? (
        <>
          <h2>{name}</h2>
          <p class="empty">{words.nothing}</p>
        </>
      ) : (
        <table class="stacking">
          <caption>{name}</caption>
          <thead>
            <tr>
              <th>{words.name}</th>
              <th class="number">{words.generations}</th>
              <th class="number">{words.images}</th>
              <th class="number">{words.credits}</th>
            </tr>
          </thead>
          <tbody>
            {rows
              .toSorted((one, other) => other.credits - one.credits || other.images - one.images)
              .map((row) => (
                <tr>
                  <td class="first">{nameOf(row)}</td>
                  <Cell label={words.generations} class="number">
                    {number(row.generations)}
                  </Cell>
                  <Cell label={words.images} class="number">
                    {number(row.images)}
                  </Cell>
                  <Cell label={words.credits} class="number">
                    {number(row.credits)}
                  </Cell>
                </tr>
              ))}
          </tbody>
        </table>
      )}
    </div>
  )
}

const Downloads = ({ span }: Pick<UsageView, 'span'>) => {
  const { usage: words } = useTexts()
  return (
    <p class="quiet">
      {words.csv} <a href={address(`${PATH}.csv`, { ...span })}>{words.all}</a>
      {USAGE_GROUPS.map((by) => (
        <>
          , <a href={address(`${PATH}.csv`, { ...span, by })}>{words.by[by]}</a>
        </>
      ))}
      . {words.programs} <a href="/docs#get-usage">{words.api}</a>.
    </p>
  )
}

const csvQuery = spanQuery.extend({ by: field.choice('by', USAGE_GROUPS).optional() })

/** Your usage. */
export function usagePageRoutes(app: App, { ports, keyPrefix }: WebsiteOptions): void {
  const { usage, currentPeriods } = ports

  app.get(PATH, { schema: { querystring: spanQuery } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const { id } = signedIn.caller.account
    const { span, problem } = shownSpan(request.query, reply)
    const [rows, current] = await Promise.all([usage.of(id, span), currentPeriods.of(id)])
    return sendPage(reply, <UsagePage {...{ signedIn, keyPrefix, span, rows, current, problem }} />)
  })

  app.get(`${PATH}.csv`, { schema: { querystring: csvQuery } }, async ({ caller, query: { by, ...asked } }, reply) => {
    const span = requireSpan(asked)
    const rows = await usage.of(caller.account.id, span)
    return sendCsv(reply, span, by ? `usage-by-${by}` : 'usage', (separator) => usageCsv(rows, by, separator))
  })
}
