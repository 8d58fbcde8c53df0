/** A place in a list: what comes after it stays the same, whatever is added at the front meanwhile. */
export type Cursor = readonly number[]

export interface PageRequest {
  /** 1 to 100. */
  readonly limit: number
  /** Where the page before ended; undefined: from the newest. */
  readonly after: Cursor | undefined
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Where the next page begins; undefined at the end. */
  readonly next: Cursor | undefined
}

/** The page of rows that were read with one row more than `limit`, which shows whether there is a next page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  placeOf: (row: Row) => Cursor,
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { items: shown.map(toItem), next: last && rows.length > limit ? placeOf(last) : undefined }
}

/** The same of rows that are in the order of their IDs. */
export const pageById = <Row extends { readonly id: number }>(rows: readonly Row[], limit: number): Page<Row> =>
  pageOf(
    rows,
    limit,
    (row) => row,
    ({ id }) => [id],
  )
