import { counted, number } from './text.js'

interface DayChartProps<Day> {
  /** Unique within the page. */
  readonly id: string
  readonly title: string
  /** What is counted, such as `credit`. */
  readonly noun: string
  /** Without a gap, oldest first, in UTC. */
  readonly days: readonly Day[]
  readonly valueOf: (day: Day) => number
}

const WIDTH = 720
const HEIGHT = 120
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const dayName = (day = '') => DAY.format(new Date(`${day}T00:00:00Z`))

/** Bars for each day; a table has the same numbers. */
export function DayChart<Day extends { readonly day: string }>(props: DayChartProps<Day>) {
  const { id, title, noun } = props
  const days = props.days.map((it) => ({ day: it.day, value: props.valueOf(it) }))
  const total = days.reduce((sum, { value }) => sum + value, 0)
  const most = days.reduce((max, it) => (it.value > max.value ? it : max), { day: '', value: 0 })
  const [first, last] = [dayName(days[0]?.day), dayName(days.at(-1)?.day)]
  const step = WIDTH / days.length
  return (
    <section class="card stack" aria-labelledby={id}>
      <div class="row apart">
        <h2 id={id}>{title}</h2>
        <b>{counted(total, noun)}</b>
      </div>
      <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT + 1}`} role="img" aria-labelledby={`${id}-name ${id}-facts`}>
        <title id={`${id}-name`}>{`${title}, by day`}</title>
        <desc id={`${id}-facts`}>
          {`From ${first} to ${last}: ${counted(total, noun)}`}
          {most.value > 0 && `, most on ${dayName(most.day)}: ${number(most.value)}`}
        </desc>
        {days.map(({ day, value }, n) => {
          const height = value > 0 ? Math.max(3, (value / most.value) * HEIGHT) : 1
          return (
            <rect
              key={day}
              class={value > 0 ? undefined : 'none'}
              x={round((n + 0.125) * step)}
              y={round(HEIGHT + 1 - height)}
              width={round(0.75 * step)}
              height={round(height)}
              rx={value > 0 ? round(Math.min(2.5, step / 8)) : 0}
            >
              <title>{`${dayName(day)}: ${counted(value, noun)}`}</title>
            </rect>
          )
        })}
      </svg>
      <p class="row apart span small quiet" aria-hidden="true">
        <span>{first}</span>
        <span>{last}</span>
      </p>
      <details>
        <summary>As a table</summary>
        <table class="days">
          <thead>
            <tr>
              <th>Day (UTC)</th>
              <th class="number">{`${noun[0]?.toUpperCase()}${noun.slice(1)}s`}</th>
            </tr>
          </thead>
          <tbody>
            {days.toReversed().map(({ day, value }) => (
              <tr key={day}>
                <td>{dayName(day)}</td>
                <td class="number">{number(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  )
}

const round = (n: number) => Math.round(n * 100) / 100
