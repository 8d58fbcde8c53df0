import type { FastifyReply } from 'fastify'
import Negotiator from 'negotiator'
import { z } from 'zod'
import { type DaySpan, requireSpan } from '../../core/accounts/usage.js'
import * as field from '../../http/shared/fields.js'
import { BYTE_ORDER_MARK, type Separator } from '../../lib/csv.js'
import { refusalMessage } from '../shared/answers.js'
import { useTexts } from '../texts/texts.js'
import { Field } from './page-parts.js'
import { address } from './text.js'

const DAY_MS = 86_400_000
const LENGTHS = [7, 30, 90, 365]

// A field that was cleared is sent as an empty text.
const day = (name: string) => z.preprocess((text) => text || undefined, field.queryDay(name).optional())
/** As the form sends it. */
export const spanQuery = z.object({ from: day('from'), to: day('to') })

/** The time to show; the usual one, and why, where another was asked for that there is not. */
export function shownSpan(asked: z.output<typeof spanQuery>, reply: FastifyReply) {
  try {
    return { span: requireSpan(asked), problem: undefined }
  } catch (error) {
    return { span: requireSpan({}), problem: refusalMessage(error, reply) }
  }
}

/** Where numbers have a point, and cells a semicolon between them all the same. */
const SWISS = /^(?:CH|LI)$/

/** Excel shows all of a line in one cell unless it is separated as in its country: by semicolons, where numbers have a comma. */
function separatorFor(accepted = '*'): Separator {
  const [tag = ''] = new Negotiator({ headers: { 'accept-language': accepted } }).languages()
  try {
    const locale = new Intl.Locale(tag).maximize()
    const hasPoint = new Intl.NumberFormat(locale).format(0.5).includes('.')
    return hasPoint && !SWISS.test(locale.region ?? '') ? ',' : ';'
  } catch {
    return ',' // the browser likes any language, or names none
  }
}

/** Sends a table of that time as a file for spreadsheets. */
export const sendCsv = (
  reply: FastifyReply,
  { from, to }: DaySpan,
  name: string,
  table: (separator: Separator) => string,
) =>
  reply
    .header('content-disposition', `attachment; filename="${name}-${from}-${to}.csv"`)
    .header('cache-control', 'no-store')
    .type('text/csv; charset=utf-8')
    .send(BYTE_ORDER_MARK + table(separatorFor(reply.request.headers['accept-language'])))

interface SpanFormProps {
  /** The page's address. */
  readonly path: string
  readonly span: DaySpan
}

/** The choice of a page's time. */
export const SpanForm = ({ path, span }: SpanFormProps) => {
  const { to: today } = requireSpan({})
  const words = useTexts().parts.span
  return (
    <form class="row time" method="get" action={path}>
      <Field id="from" label={words.from} type="date" value={span.from} />
      <Field id="to" label={words.to} type="date" value={span.to} />
      <button type="submit">{words.show}</button>
      <nav class="row small" aria-label={words.label}>
        {LENGTHS.map((days) => {
          const from = new Date(Date.parse(today) - (days - 1) * DAY_MS).toISOString().slice(0, 10)
          const isShown = span.from === from && span.to === today
          return (
            <a href={address(path, { from })} aria-current={isShown ? 'true' : undefined}>
              {words.days(days)}
            </a>
          )
        })}
      </nav>
    </form>
  )
}
