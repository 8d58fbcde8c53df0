import { type SQL, sql } from 'drizzle-orm'
import type { PollStore } from '../generation/follow/poll.js'
import type { GenerationStatus, GenerationView } from '../generation/generation.js'
import type { Database } from './client.js'
import { generations as g, images as i } from './schema.js'
import { named, param, pick, type RowOf, statement } from './statement.js'

const VIEW = {
  ...pick(g, 'id', 'status', 'lane', 'seq', 'seed', 'error', 'createdAt'),
  ...pick(g, 'filename', 'width', 'height', 'steps', 'batchSize'),
  elapsedMs: sql<number | null>`CASE WHEN ${g.status} = 'processing' AND ${g.attempt} = 1 THEN
    (extract(epoch FROM clock_timestamp() - ${g.startedAt}) * 1000)::float8 END`,
  slugs: sql<string[] | null>`CASE WHEN ${g.status} = 'succeeded' THEN (
    SELECT array_agg(${i.slug} ORDER BY ${i.idx}) FROM ${i}
     WHERE ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL) END`,
}
type ViewRow = RowOf<typeof VIEW>

const viewStatement = (name: string, from: SQL) => statement<ViewRow>(name)`SELECT ${named(VIEW)} FROM ${from}`

// Not `=`: a planner that expects few generations of a user would read all of them.
const FIND_OWNED = viewStatement(
  'find_owned',
  sql`${g} WHERE ${g.id} = ${param('id')} AND ${g.userId} IS NOT DISTINCT FROM ${param('accountId')}`,
)

const FIND_ALL = viewStatement('find_views', sql`${g} WHERE ${g.id} = ANY (${param('ids')})`)

const FIND_MOVED = viewStatement(
  'find_moved',
  sql`unnest(${param('ids')}::text[], ${param('statuses')}::text[]) AS seen (id, status)
      JOIN ${g} ON ${g.id} = seen.id AND ${g.status} <> seen.status`,
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

/** Those of the given generations whose status has changed. */
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
