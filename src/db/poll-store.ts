import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { PollStore } from '../generation/follow/poll.js'
import type { GenerationStatus, GenerationView } from '../generation/generation.js'
import type { Database } from './client.js'
import { generations, images } from './schema.js'
import { named, param, pick, type Statement, statement } from './statement.js'

const g = alias(generations, 'g')
const i = alias(images, 'i')

interface ViewRow extends Omit<GenerationView, 'slugs' | 'work' | 'runningSince'> {
  readonly filename: string
  readonly width: number
  readonly height: number
  readonly steps: number
  readonly batchSize: number
  readonly elapsedMs: number | null
  readonly slugs: string[] | null
}

const viewStatement = (name: string, from: SQL): Statement<ViewRow> =>
  statement<ViewRow>(name)`
    SELECT ${named({
      ...pick(g, 'id', 'status', 'lane', 'seq', 'seed', 'error', 'createdAt'),
      ...pick(g, 'filename', 'width', 'height', 'steps', 'batchSize'),
      elapsedMs: sql`CASE WHEN ${g.status} = 'processing' AND ${g.attempt} = 1 THEN
        (extract(epoch FROM clock_timestamp() - ${g.startedAt}) * 1000)::float8 END`,
      slugs: sql`CASE WHEN ${g.status} = 'succeeded' THEN (
        SELECT array_agg(${i.slug} ORDER BY ${i.idx}) FROM ${images} ${i}
         WHERE ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL) END`,
    })} ${from}`

// Not `=`: a planner that expects few of a user's would read all of them.
const FIND_OWNED = viewStatement(
  'find_owned',
  sql`FROM ${generations} ${g}
       WHERE ${g.id} = ${param('id')} AND ${g.userId} IS NOT DISTINCT FROM ${param('accountId')}`,
)

const FIND_ALL = viewStatement('find_views', sql`FROM ${generations} ${g} WHERE ${g.id} = ANY (${param('ids')})`)

const FIND_MOVED = viewStatement(
  'find_moved',
  sql`FROM unnest(${param('ids')}::text[], ${param('statuses')}::text[]) AS seen (id, status)
      JOIN ${generations} ${g} ON ${g.id} = seen.id AND ${g.status} <> seen.status`,
)

export const pollStore = ({ pool }: Database): PollStore => ({
  async findOwned(accountId, id) {
    const row = await FIND_OWNED.first(pool, { id, accountId })
    return row && toView(row)
  },
})

/** The given generations as they are now. */
export const findViews = async ({ pool }: Database, ids: readonly string[]): Promise<GenerationView[]> =>
  (await FIND_ALL.rows(pool, { ids })).map(toView)

/** Those of the given generations whose status is another one by now. */
export const findMoved = async (
  { pool }: Database,
  seen: ReadonlyMap<string, GenerationStatus>,
): Promise<GenerationView[]> =>
  (await FIND_MOVED.rows(pool, { ids: [...seen.keys()], statuses: [...seen.values()] })).map(toView)

const toView = ({ filename, width, height, steps, batchSize, elapsedMs, slugs, ...view }: ViewRow): GenerationView => ({
  ...view,
  slugs: slugs ?? [],
  work: { filename, width, height, steps, batchSize },
  runningSince: elapsedMs === null ? undefined : performance.now() - elapsedMs,
})
