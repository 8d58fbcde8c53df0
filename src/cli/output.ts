import type { Config } from '../config.js'
import type { Operator } from './connection.js'

export type Cell = string | number | boolean | Date | null

const GAP = '  '

/** Columns as wide as their content; numbers to the right. `empty` is said instead of a table without rows. */
export function table(headers: readonly string[], rows: readonly (readonly Cell[])[], empty: string): string {
  if (rows.length === 0) return empty
  const lines = [headers, ...rows.map((row) => row.map(cellText))]
  const widths = headers.map((_, i) => Math.max(...lines.map((line) => widthOf(line[i] ?? ''))))
  const isNumeric = headers.map((_, i) => rows.every((row) => typeof row[i] === 'number' || row[i] === null))
  return lines
    .map((line) =>
      line
        .map((text, i) => pad(text, widths[i] ?? 0, isNumeric[i] === true))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

/** One fact a line, names to the left. */
export function facts(entries: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}${GAP}${cellText(value)}`).join('\n')
}

function cellText(value: Cell): string {
  if (value === null || value === '') return '-'
  if (value instanceof Date) return value.toISOString().replace(/\.\d+Z$/, 'Z')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return printable(String(value))
}

/** Prompts are written by strangers: what steers a terminal, or turns its text around, is shown instead of sent. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (char) =>
    char === '\n' ? '\\n' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

function pad(text: string, width: number, right: boolean): string {
  const space = ' '.repeat(width - widthOf(text))
  return right ? space + text : text + space
}

const widthOf = (text: string): number => [...text].length

export const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`

/** What a command answers: the same facts for programs and for people. */
export interface Answer {
  readonly json: unknown
  /** Without the line end. */
  readonly text: string
  /** 0 unless given. */
  readonly exitCode?: number
  /** A sentence for stderr about what is amiss; the exit code is then 1. */
  readonly complaint?: string
  /** A sentence for stderr that changes no exit code. */
  readonly warning?: string
}

/** Turns a command's work into an action for commander: arguments in, answer printed. */
export interface Runner {
  /** For work on the database; what was opened for it is closed. */
  connected<Args extends unknown[]>(
    work: (operator: Operator, ...args: Args) => Promise<Answer>,
  ): (...args: Args) => Promise<void>
  /** For work that opens its own connections. */
  bare<Args extends unknown[]>(
    work: (config: Config, ...args: Args) => Promise<Answer>,
  ): (...args: Args) => Promise<void>
  /** For work that needs no database, on a machine that may have none: looked for only when it is asked for. */
  unconnected<Args extends unknown[]>(
    work: (find: () => Promise<Config | undefined>, ...args: Args) => Promise<Answer>,
  ): (...args: Args) => Promise<void>
}
