import type { SignedIn } from '../../../core/accounts/session.js'
import { type DaySpan, requireSpan } from '../../../core/accounts/usage.js'
import { type CreditFigures, type DayFigures, type Figures, MOST_ACCOUNTS } from '../../../core/operator/figures.js'
import type { App } from '../../../http/shared/fastify-app.js'
import * as field from '../../../http/shared/fields.js'
import { csvOf, type Separator } from '../../../lib/csv.js'
import { snakeCase } from '../../../lib/names.js'
import { DayChart } from '../../parts/day-chart.js'
import { sendPage } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import { SpanForm, sendCsv, shownSpan, spanQuery } from '../../parts/span-form.js'
import { address, number } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Table, UserLink } from '../parts/operator-parts.js'

const PATH = '/operator/figures'

interface FiguresView {
  readonly signedIn: SignedIn
  readonly span: DaySpan
  readonly figures: Figures
  /** Why another time is shown than was asked for. */
  readonly problem: string | undefined
}

const CHARTS = [
  ['spent', 'Credits spent'],
  ['sold', 'Credits sold'],
  ['granted', 'Credits granted'],
  ['expired', 'Credits expired'],
] as const satisfies readonly (readonly [keyof CreditFigures, string])[]

/** What the service has granted, sold and made in some days. */
const FiguresPage = ({ signedIn, span, figures, problem }: FiguresView) => (
  <OperatorLayout title="Figures" signedIn={signedIn} path={PATH}>
    <Notices problem={problem} />
    <SpanForm path={PATH} span={span} />
    <div class="charts">
      {CHARTS.map(([name, title]) => (
        <DayChart id={name} title={title} noun="credit" days={figures.days} valueOf={(day: DayFigures) => day[name]} />
      ))}
      <DayChart
        id="started"
        title="New subscriptions"
        noun="subscription"
        days={figures.days}
        valueOf={({ started }: DayFigures) => started}
      />
      <DayChart
        id="ended"
        title="Ended subscriptions"
        noun="subscription"
        days={figures.days}
        valueOf={({ ended }: DayFigures) => ended}
      />
    </div>
    <Plans plans={figures.plans} />
    <Models models={figures.models} />
    <Accounts accounts={figures.accounts} />
    <Backends backends={figures.backends} />
    <p class="quiet">
      As CSV:{' '}
      {GROUPS.map((by, n) => (
        <>
          {n > 0 && ', '}
          <a href={address(`${PATH}.csv`, { ...span, by })}>{by}</a>
        </>
      ))}
      . Days are in UTC; a generation counts for the day of its submit, less what was given back. Accounts count for the
      plan that they have now.
    </p>
  </OperatorLayout>
)

const Numbers = ({ of }: { of: readonly number[] }) => (
  <>
    {of.map((value) => (
      <td class="number">{number(value)}</td>
    ))}
  </>
)

const EMPTY = 'Nothing in this time.'

const Plans = ({ plans }: Pick<Figures, 'plans'>) => (
  <Table
    name="Plans"
    columns={[
      ['Plan'],
      ['Active now', 'number'],
      ['New', 'number'],
      ['Ended', 'number'],
      ...CHARTS.map(([name]) => [`Credits ${name}`, 'number'] as const),
    ]}
    empty={EMPTY}
  >
    {plans.map(({ plan, active, started, ended, ...credits }) => (
      <tr>
        <td>{plan === null ? <span class="quiet">No subscription</span> : <bdi>{plan}</bdi>}</td>
        <Numbers of={[active, started, ended, ...CHARTS.map(([name]) => credits[name])]} />
      </tr>
    ))}
  </Table>
)

const COUNTS = [
  ['Generations', 'number'],
  ['Images', 'number'],
  ['Credits spent', 'number'],
] as const

const Models = ({ models }: Pick<Figures, 'models'>) => (
  <Table name="Models" columns={[['Model'], ...COUNTS]} empty={EMPTY}>
    {models.map(({ modelName, generations, images, spent }) => (
      <tr>
        <td>
          <bdi>{modelName}</bdi>
        </td>
        <Numbers of={[generations, images, spent]} />
      </tr>
    ))}
  </Table>
)

const Accounts = ({ accounts }: Pick<Figures, 'accounts'>) => (
  <Table name={`The ${MOST_ACCOUNTS} accounts that cost most`} columns={[['Account'], ...COUNTS]} empty={EMPTY}>
    {accounts.map(({ username, generations, images, spent }) => (
      <tr>
        <td>
          <UserLink username={username} />
        </td>
        <Numbers of={[generations, images, spent]} />
      </tr>
    ))}
  </Table>
)

const Backends = ({ backends }: Pick<Figures, 'backends'>) => (
  <Table
    name="Backends"
    columns={[['Backend'], ['Failed', 'number'], ['Credits given back', 'number'], ['Attempts put back', 'number']]}
    empty="Nothing has failed in this time."
  >
    {backends.map(({ backend, failed, refunded, putBack }) => (
      <tr>
        <td>{backend === null ? <span class="quiet">None had begun it</span> : <bdi class="mono">{backend}</bdi>}</td>
        <Numbers of={[failed, refunded, putBack]} />
      </tr>
    ))}
  </Table>
)

const GROUPS = ['days', 'plans', 'models', 'accounts', 'backends'] as const

const COLUMNS = {
  days: ['day', 'granted', 'sold', 'spent', 'expired', 'started', 'ended'],
  plans: ['plan', 'active', 'started', 'ended', 'granted', 'sold', 'spent', 'expired'],
  models: ['modelVersionId', 'modelName', 'generations', 'images', 'spent'],
  accounts: ['username', 'generations', 'images', 'spent'],
  backends: ['backend', 'failed', 'refunded', 'putBack'],
} as const satisfies { readonly [Group in keyof Figures]: readonly (keyof Figures[Group][number])[] }

function figuresCsv(figures: Figures, by: keyof Figures, separator: Separator): string {
  const columns: readonly string[] = COLUMNS[by]
  const rows = figures[by] as readonly object[] as readonly Readonly<Record<string, string | number | null>>[]
  return csvOf(
    columns.map(snakeCase),
    rows.map((row) => columns.map((name) => row[name] ?? null)),
    separator,
  )
}

const csvQuery = spanQuery.extend({ by: field.choice('by', GROUPS) })

/** The operator's figures. */
export function figuresRoutes(app: App, { ports: { figures } }: WebsiteOptions): void {
  app.get(PATH, { schema: { querystring: spanQuery } }, async (request, reply) => {
    const { span, problem } = shownSpan(request.query, reply)
    const view = { signedIn: sessionOf(request), span, problem, figures: await figures.of(span) }
    return sendPage(reply, <FiguresPage {...view} />)
  })

  app.get(`${PATH}.csv`, { schema: { querystring: csvQuery } }, async ({ query: { by, ...asked } }, reply) => {
    const span = requireSpan(asked)
    const shown = await figures.of(span)
    return sendCsv(reply, span, by, (separator) => figuresCsv(shown, by, separator))
  })
}
