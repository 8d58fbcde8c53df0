/** How rows move to the tables of their month; `migrations/0066_month_tables.sql` has the two functions that do it. */
import { sql } from 'drizzle-orm'
import type { MonthStore } from '../../core/generations/move-to-months.js'
import type { Database } from '../client.js'
import { generations as g } from '../schema/generations.js'
import { isBusy, sqlState } from '../sql-state.js'
import { param, statement } from '../statement.js'

/** At a time: a step takes some tens of milliseconds. */
const STEP = 250

const LIVE_SINCE = sql`date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - make_interval(months => ${param('liveMonths')}::integer)`

const endedAs = (status: 'succeeded' | 'failed') => sql`
  (SELECT ${g.id}, ${g.seq}, ${g.createdAt} FROM ${g}
    WHERE ${g.status} = ${status} AND ${g.seq} > ${param('after')}::bigint ORDER BY ${g.seq} LIMIT ${STEP})`

// In the order of submits, which is that of the index of each status, to within seconds.
const NEXT = statement<{ ids: string[]; months: string[]; last: number | null }>('next_to_move')`
  SELECT coalesce(array_agg(id) FILTER (WHERE is_due), '{}') AS ids,
         coalesce(array_agg(DISTINCT month_of(created_at)::text) FILTER (WHERE is_due), '{}') AS months, max(seq) AS last
    FROM (SELECT *, created_at < ${LIVE_SINCE} AS is_due FROM (${endedAs('succeeded')} UNION ALL ${endedAs('failed')}) ended
           ORDER BY seq LIMIT ${STEP}) page`

const ADD = statement<{ isNew: boolean }>('add_month')`SELECT add_month(${param('month')}::date) AS "isNew"`

const MOVE = statement<{ moved: number }>('move_to_months')`SELECT move_to_months(${param('ids')}::text[]) AS moved`

/** The month's tables were dropped at this moment, since all of it was archived: the next pass makes them again. */
const NO_PART = '23514'

export function monthStore({ pool }: Database): MonthStore {
  /** Of a step that fails all but a few can be moved by themselves. */
  async function move(ids: readonly string[]): Promise<number> {
    const done = await MOVE.first(pool, { ids }).catch((error) => {
      if (isBusy(error) || sqlState(error) === NO_PART) return undefined
      throw error
    })
    if (done) return done.moved
    const half = Math.ceil(ids.length / 2)
    return ids.length === 1 ? 0 : (await move(ids.slice(0, half))) + (await move(ids.slice(half)))
  }

  return {
    async next(liveMonths, after) {
      const { ids = [], months = [], last = null } = (await NEXT.first(pool, { liveMonths, after })) ?? {}
      return { ids, months, last: last ?? after }
    },

    add: async (month) => (await ADD.first(pool, { month }))?.isNew ?? false,
    move,
  }
}
