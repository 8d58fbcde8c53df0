import type { PollStore } from '../generation/follow/poll.js'
import type { GenerationStatus, GenerationView } from '../generation/generation.js'
import type { Database } from './client.js'

const VIEW = `
  g.id, g.status, g.lane, g.seq, g.seed, g.error, g.created_at, g.filename, g.width, g.height, g.steps, g.batch_size,
  CASE WHEN g.status = 'processing' AND g.attempt = 1 THEN
    (extract(epoch FROM clock_timestamp() - g.started_at) * 1000)::float8 END AS elapsed_ms,
  CASE WHEN g.status = 'succeeded' THEN
    (SELECT array_agg(i.slug ORDER BY i.idx) FROM images i WHERE i.generation_id = g.id AND i.removed_at IS NULL)
  END AS slugs`

// Not `=`: a planner that expects few of a user's would read all of them.
const FIND_OWNED = {
  name: 'find_owned',
  text: `SELECT ${VIEW} FROM generations g WHERE g.id = $1 AND g.user_id IS NOT DISTINCT FROM $2`,
}

const FIND_ALL = {
  name: 'find_views',
  text: `SELECT ${VIEW} FROM generations g WHERE g.id = ANY ($1)`,
}

const FIND_MOVED = {
  name: 'find_moved',
  text: `
    SELECT ${VIEW} FROM unnest($1::text[], $2::text[]) AS seen (id, status)
      JOIN generations g ON g.id = seen.id AND g.status <> seen.status`,
}

export const pollStore = ({ pool }: Database): PollStore => ({
  async findOwned(accountId, id) {
    const { rows } = await pool.query({ ...FIND_OWNED, values: [id, accountId] })
    return rows[0] && toView(rows[0])
  },
})

/** The given generations as they are now. */
export async function findViews({ pool }: Database, ids: readonly string[]): Promise<GenerationView[]> {
  const { rows } = await pool.query<ViewRow>({ ...FIND_ALL, values: [ids] })
  return rows.map(toView)
}

/** Those of the given generations whose status is another one by now. */
export async function findMoved(
  { pool }: Database,
  seen: ReadonlyMap<string, GenerationStatus>,
): Promise<GenerationView[]> {
  const { rows } = await pool.query<ViewRow>({ ...FIND_MOVED, values: [[...seen.keys()], [...seen.values()]] })
  return rows.map(toView)
}

interface ViewRow {
  id: string
  status: GenerationStatus
  lane: GenerationView['lane']
  seq: number
  seed: number
  error: string | null
  created_at: Date
  filename: string
  width: number
  height: number
  steps: number
  batch_size: number
  elapsed_ms: number | null
  slugs: string[] | null
}

const toView = (row: ViewRow): GenerationView => ({
  id: row.id,
  status: row.status,
  lane: row.lane,
  seq: row.seq,
  seed: row.seed,
  slugs: row.slugs ?? [],
  error: row.error,
  createdAt: row.created_at,
  work: {
    filename: row.filename,
    width: row.width,
    height: row.height,
    steps: row.steps,
    batchSize: row.batch_size,
  },
  runningSince: row.elapsed_ms === null ? undefined : performance.now() - row.elapsed_ms,
})
