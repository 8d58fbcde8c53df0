/** Tables as CSV (RFC 4180), for spreadsheets. */

type Cell = string | number | null
/** Programs expect the comma; spreadsheets of some countries the semicolon. */
export type Separator = ',' | ';'

/** Where a spreadsheet would read a formula: at the start of a cell, whichever separator it goes by. */
const FORMULA = /(^|[,;\t\r\n"])([^\S\t\r\n]*)(?=[=+\-@＝＋－＠])/g

/** Begins a file that spreadsheets open: they take one without it for the encoding of their country, and spoil umlauts. */
export const BYTE_ORDER_MARK = '\ufeff'

/** A text gets an apostrophe where a spreadsheet would read a formula: others may have chosen it. */
export function csvOf(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  separator: Separator = ',',
): string {
  // The same days and names stand in thousands of rows.
  const written = new Map<Cell, string>()
  const cellOf = (cell: Cell): string => {
    const known = written.get(cell)
    if (known !== undefined) return known
    const text = typeof cell === 'string' ? quoted(cell) : String(cell ?? '')
    written.set(cell, text)
    return text
  }
  return [columns, ...rows].map((cells) => `${cells.map(cellOf).join(separator)}\r\n`).join('')
}

function quoted(cell: string): string {
  const text = cell.replace(FORMULA, "$1$2'")
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
