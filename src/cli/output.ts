/** What a command answers, as one JSON value or as text for people. */

export type Cell = string | number | boolean | Date | null

export interface Answer {
  readonly json: unknown
  /** Without the line end. */
  readonly text: string
  /** 0 unless given. */
  readonly exitCode?: number
  /** A sentence for stderr about what is amiss; the exit code is then 1. */
  readonly complaint?: string | undefined
  /** A sentence for stderr that changes no exit code. */
  readonly warning?: string | undefined
}

/** Fields of a row, named as they are in JSON: `createdAt` becomes `created_at`. */
export const jsonOf = <Row extends object>(row: Row, ...names: readonly (keyof Row & string)[]) =>
  Object.fromEntries(
    names.map((name) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), row[name] as unknown]),
  )

const GAP = '  '

/** Columns as wide as their content; numbers to the right. `empty` is said instead of a table without rows. */
export function table(headers: readonly string[], rows: readonly (readonly Cell[])[], empty = ''): string {
  if (rows.length === 0) return empty
  const lines = [headers, ...rows.map((row) => row.map(cellText))]
  const columns = headers.map((_, i) => ({
    width: Math.max(...lines.map((line) => widthOf(line[i] ?? ''))),
    isNumeric: rows.every((row) => typeof row[i] === 'number' || row[i] === null),
  }))
  const lineOf = (texts: readonly string[]) =>
    columns.map(({ width, isNumeric }, i) => pad(texts[i] ?? '', width, isNumeric)).join(GAP)
  return lines.map((line) => lineOf(line).trimEnd()).join('\n')
}

/** One fact a line, names to the left. */
export function facts(values: Readonly<Record<string, Cell>>): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length))
  return Object.entries(values)
    .map(([name, value]) => `${name.padEnd(width)}${GAP}${cellText(value)}`)
    .join('\n')
}

function cellText(value: Cell): string {
  if (value === null || value === '') return '-'
  if (value instanceof Date) return value.toISOString().replace(/\.\d+Z$/, 'Z')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return printable(String(value))
}

/** Control characters and those that change the direction of text: prompts are written by strangers. */
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
