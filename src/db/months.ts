/**
 * What has ended for months is in tables of its month. The live tables (`generations`, `images`, …) have all else; the partitioned
 * ones (`allGenerations`, …) have both. What submits, runs and ends generations uses the live ones alone.
 */
import { type Column, type SQL, sql } from 'drizzle-orm'
import { allGenerations, generations, months } from './schema/generations.js'
import { allImages, images } from './schema/images.js'
import { eachOf, type Queryable, statement } from './statement.js'

type OfMonth = { readonly month: Column }

/**
 * What hangs on a generation is in the same month as it, or still live: Postgres then looks into two of the tables, not into all.
 * @param isLive the generation is
 */
export const inMonthOf = ({ month }: OfMonth, other: OfMonth, isLive = false): SQL =>
  isLive ? sql`${month} IS NULL` : sql`(${month} = ${other.month} OR ${month} IS NULL)`

/** Of rows that are newer than all that has moved. To plan for the live table alone takes a fraction of the time. */
export const isNewerThanMoved = ({ month, createdAt }: OfMonth & { readonly createdAt: Column }): SQL => sql`
  ${month} IS NULL
  AND ${createdAt} >= (SELECT coalesce(max(${months.month}) + interval '1 month 1 day', '-infinity') FROM ${months})`

const HAS_MONTHS = statement('has_months')`SELECT FROM ${months} LIMIT 1`

/**
 * Reads the beginning of a list, newest first: of the live table, if that has enough.
 * @param read `isLive`: only what is newer than all that has moved
 */
export async function newestOf<Row>(
  on: Queryable,
  enough: number,
  read: (isLive: boolean) => Promise<Row[]>,
): Promise<Row[]> {
  const rows = await read(true)
  return rows.length >= enough || (await HAS_MONTHS.count(on)) === 0 ? rows : read(false)
}

export const LIVE = { g: generations, i: images } as const
export const ALL = { g: allGenerations, i: allImages } as const
export type Tables = typeof LIVE | typeof ALL

/** Like `eachOf`. Only what is not in the live tables is looked up in all of them, which takes longer. */
export function liveFirst<Row, Name extends string>(
  name: string,
  types: Readonly<Record<Name, string>>,
  query: (tables: Tables) => SQL,
) {
  const inLive = eachOf<Row, Name>(name, types, query(LIVE))
  const inAll = eachOf<Row, Name>(`${name}_of_all`, types, query(ALL))
  return async (on: Queryable, items: readonly Readonly<Record<Name, unknown>>[]): Promise<(Row | undefined)[]> => {
    const rows = await inLive(on, items)
    const missing = items.filter((_, n) => rows[n] === undefined)
    const others = (missing.length > 0 ? await inAll(on, missing) : []).values()
    return rows.map((row) => row ?? others.next().value)
  }
}
