import type { DaySpan } from '../../core/accounts/usage.js'
import { requireSpan } from '../../core/accounts/usage.js'
import { Field } from './page-parts.js'
import { address } from './text.js'

const DAY_MS = 86_400_000
const LENGTHS = [
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
  [365, '365 days'],
] as const

interface SpanFormProps {
  /** The page's address. */
  readonly path: string
  readonly span: DaySpan
}

/** The choice of a page's time. */
export const SpanForm = ({ path, span }: SpanFormProps) => {
  const { to: today } = requireSpan({})
  return (
    <form class="row time" method="get" action={path}>
      <Field id="from" label="From" type="date" value={span.from} />
      <Field id="to" label="To" type="date" value={span.to} />
      <button type="submit">Show</button>
      <nav class="row small" aria-label="Time">
        {LENGTHS.map(([days, name]) => {
          const from = new Date(Date.parse(today) - (days - 1) * DAY_MS).toISOString().slice(0, 10)
          const isShown = span.from === from && span.to === today
          return (
            <a href={address(path, { from })} aria-current={isShown ? 'true' : undefined}>
              {name}
            </a>
          )
        })}
      </nav>
    </form>
  )
}
