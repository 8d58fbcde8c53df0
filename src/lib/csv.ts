/** Tables as CSV (RFC 4180), for spreadsheets. */

type Cell = string | number | null

/** Where a spreadsheet would read a formula: at the start of a cell, whichever separator it goes by. */
const FORMULA = /(^|[,;\t\r\n"])([^\S\t\r\n]*)(?=[=+\-@＝＋－＠])/g

/** Begins a file that spreadsheets open: they take one without it for the encoding of their country, and spoil umlauts. */
export const BYTE_ORDER_MARK = '\ufeff'

/** A text gets an apostrophe where a spreadsheet would read a formula: others may have chosen it. */
export const csvOf = (columns: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [columns, ...rows].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')

function cellOf(cell: Cell): string {
  if (typeof cell !== 'string') return String(cell ?? '')
  const text = cell.replace(FORMULA, "$1$2'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
