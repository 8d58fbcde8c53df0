import type { DaySpending } from '../../../core/accounts/spending.js'
import { counted, number } from '../../parts/text.js'

const BAR = { width: 18, gap: 6, height: 120 }
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const dayName = (day: string) => DAY.format(new Date(`${day}T00:00:00Z`))

/** Bars for each day; a table has the same numbers for those who don't see them. */
export function SpendingChart({ days }: { days: readonly DaySpending[] }) {
  const total = days.reduce((sum, { spent }) => sum + spent, 0)
  const most = Math.max(1, ...days.map(({ spent }) => spent))
  const step = BAR.width + BAR.gap
  return (
    <section class="card stack" aria-labelledby="spending">
      <div class="row apart">
        <h2 id="spending">Credits spent in 30 days</h2>
        <b>{counted(total, 'credit')}</b>
      </div>
      <svg class="bars" viewBox={`0 0 ${days.length * step} ${BAR.height + 1}`} aria-hidden="true">
        {days.map(({ day, spent }, n) => {
          const height = spent > 0 ? Math.max(3, (spent / most) * BAR.height) : 1
          return (
            <rect
              key={day}
              class={spent > 0 ? undefined : 'none'}
              x={n * step + BAR.gap / 2}
              y={BAR.height + 1 - height}
              width={BAR.width}
              height={height}
              rx={spent > 0 ? 2.5 : 0}
            >
              <title>{`${dayName(day)}: ${counted(spent, 'credit')}`}</title>
            </rect>
          )
        })}
      </svg>
      <p class="row apart span small quiet" aria-hidden="true">
        <span>{dayName(days[0]?.day ?? '')}</span>
        <span>Today</span>
      </p>
      <details>
        <summary>As a table</summary>
        <table class="days">
          <thead>
            <tr>
              <th>Day (UTC)</th>
              <th class="number">Credits spent</th>
            </tr>
          </thead>
          <tbody>
            {days.toReversed().map(({ day, spent }) => (
              <tr key={day}>
                <td>{dayName(day)}</td>
                <td class="number">{number(spent)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  )
}
