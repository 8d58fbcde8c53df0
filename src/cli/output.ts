/** What a command answers, as one JSON value or as text for people. */
import { printable } from '../lib/text.js'

export { jsonOf } from '../lib/names.js'

type Cell = string | number | boolean | Date | null | undefined

export interface Answer {
  readonly json: unknown
  /** Without the line end; undefined: all has been said. */
  readonly text: string | undefined
  /** What to do next, below the text: it names commands as `"easel …"`, and is printed with the name that works here. */
  readonly hint?: string | undefined
  /** The exit code is then 1. */
  readonly failed?: boolean
  /** A line for stderr: `error: …` or `warning: …`. */
  readonly remark?: string | undefined
}

const GAP = '  '

/** What is told of one thing, by the names that people read. */
type Facts = Readonly<Record<string, Cell>>

/** A line for each row, numbers to the right. `empty` is said instead of a table without rows. */
export function table(rows: readonly Facts[], empty = ''): string {
  const [first] = rows
  if (!first) return empty
  const columns = Object.keys(first).map((name) => {
    const cells = rows.map((row) => row[name])
    const isNumeric = cells.every((cell) => typeof (cell ?? 0) === 'number')
    return aligned([name, ...cells.map(cellText)], isNumeric)
  })
  const lineOf = (n: number) => columns.map((texts) => texts[n]).join(GAP)
  return Array.from({ length: rows.length + 1 }, (_, n) => lineOf(n).trimEnd()).join('\n')
}

/** A line for each fact, names to the left. */
export function facts(values: Facts): string {
  const names = aligned(Object.keys(values))
  return Object.values(values)
    .map((value, i) => `${names[i]}${GAP}${cellText(value)}`)
    .join('\n')
}

/** As wide as the widest of them. */
function aligned(texts: readonly string[], right = false): string[] {
  const width = Math.max(...texts.map(widthOf))
  return texts.map((text) => {
    const space = ' '.repeat(width - widthOf(text))
    return right ? space + text : text + space
  })
}

const letters = new Intl.Segmenter()
// What terminals draw twice as wide: letters of East Asia, and pictographs.
const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u

/** In columns of a terminal. */
const widthOf = (text: string): number =>
  [...letters.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0)

function cellText(value: Cell): string {
  if (value === null || value === undefined || value === '') return '-'
  if (value instanceof Date) return value.toISOString().replace(/\.\d+Z$/, 'Z')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  // As wide as it is printed.
  return printable(String(value)).replaceAll('\n', '\\n')
}

export const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`
