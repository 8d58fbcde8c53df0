import type { Page, PageRequest } from '../generation/library/history.js'

/** One row more than the page has was asked for: it says whether there is a next one. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: PageRequest['limit'],
  toItem: (row: Row) => Item,
  placeOf: (row: Row) => readonly number[],
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { items: shown.map(toItem), next: last && rows.length > limit ? placeOf(last) : undefined }
}
