import { type Texts, useTexts } from '../texts/texts.js'

interface DayChartProps<Day> {
  /** Unique within the page. */
  readonly id: string
  readonly title: string
  /** What is counted. */
  readonly noun: keyof Texts['countOf']
  /** Without a gap, oldest first, in UTC. */
  readonly days: readonly Day[]
  readonly valueOf: (day: Day) => number
}

const WIDTH = 720
const HEIGHT = 120

/** More bars than these say nothing on a phone, and weigh too much: then each is of a week, the last of which is whole. */
const MOST_DAYS = 62

interface Bar {
  readonly name: string
  readonly value: number
}

function barsOf(
  days: readonly { readonly day: string; readonly value: number }[],
  size: number,
  { day, parts }: Texts,
): Bar[] {
  const bars: Bar[] = []
  for (let end = days.length; end > 0; end -= size) {
    const its = days.slice(Math.max(0, end - size), end)
    const [first, last] = [day(its[0]?.day ?? ''), day(its.at(-1)?.day ?? '')]
    bars.unshift({
      name: first === last ? first : parts.chart.range(first, last),
      value: its.reduce((sum, { value }) => sum + value, 0),
    })
  }
  return bars
}

/** Bars for each day, or week of a longer time; a table has the same numbers. */
export function DayChart<Day extends { readonly day: string }>(props: DayChartProps<Day>) {
  const { id, title, noun } = props
  const days = props.days.map((it) => ({ day: it.day, value: props.valueOf(it) }))
  const per = days.length > MOST_DAYS ? 'week' : 'day'
  const texts = useTexts()
  const { number, day, headOf, countOf } = texts
  const { chart } = texts.parts
  const counted = countOf[noun]
  const bars = barsOf(days, per === 'week' ? 7 : 1, texts)
  const total = bars.reduce((sum, { value }) => sum + value, 0)
  const most = bars.reduce((max, it) => (it.value > max.value ? it : max), { name: '', value: 0 })
  const [first, last] = [day(days[0]?.day ?? ''), day(days.at(-1)?.day ?? '')]
  const step = WIDTH / bars.length
  return (
    <section class="card stack" aria-labelledby={id}>
      <div class="row apart">
        <h2 id={id}>{title}</h2>
        <b>{number(total)}</b>
      </div>
      <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT + 1}`} role="img" aria-labelledby={`${id}-name ${id}-facts`}>
        <title id={`${id}-name`}>{chart.by(title, per)}</title>
        <desc id={`${id}-facts`}>
          {chart.facts(first, last, counted(total))}
          {most.value > 0 && chart.most(per, most.name, number(most.value))}
        </desc>
        {bars.map(({ name, value }, n) => {
          const height = value > 0 ? Math.max(3, (value / most.value) * HEIGHT) : 1
          return (
            <rect
              key={name}
              class={value > 0 ? undefined : 'none'}
              x={round((n + 0.125) * step)}
              y={round(HEIGHT + 1 - height)}
              width={round(0.75 * step)}
              height={round(height)}
              rx={value > 0 ? round(Math.min(2.5, step / 8)) : 0}
            >
              <title>{`${name}: ${counted(value)}`}</title>
            </rect>
          )
        })}
      </svg>
      <p class="row apart span small quiet" aria-hidden="true">
        <span>{first}</span>
        <span>{last}</span>
      </p>
      <details>
        <summary>{chart.table}</summary>
        <table class="days">
          <thead>
            <tr>
              <th>{chart.per[per]}</th>
              <th class="number">{headOf[noun]}</th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map(({ name, value }) => (
              <tr key={name}>
                <td>{name}</td>
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
