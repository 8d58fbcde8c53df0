import type { GenerationView } from '../generation/generation.js'
import type { PollStore } from '../generation/ports.js'
import type { Database } from './client.js'

const VIEW = `
  g.id, g.status, g.lane, g.seq, g.seed, g.error, g.created_at,
  CASE WHEN g.status = 'succeeded' THEN
    (SELECT array_agg(i.slug ORDER BY i.idx) FROM images i WHERE i.generation_id = g.id AND i.removed_at IS NULL)
  END AS slugs`

const FIND_OWNED = {
  name: 'find_owned',
  text: `SELECT ${VIEW} FROM generations g WHERE g.id = $1 AND g.user_id = $2`,
}

const FIND_ENDED = {
  name: 'find_ended',
  text: `SELECT ${VIEW} FROM generations g WHERE g.id = ANY ($1) AND g.status IN ('succeeded', 'failed')`,
}

export const pollStore = ({ pool }: Database): PollStore => ({
  async findOwned(accountId, id) {
    const { rows } = await pool.query({ ...FIND_OWNED, values: [id, accountId] })
    return rows[0] && toView(rows[0])
  },
})

/** Those of the given generations that have ended. */
export async function findEnded({ pool }: Database, ids: readonly string[]): Promise<GenerationView[]> {
  const { rows } = await pool.query<ViewRow>({ ...FIND_ENDED, values: [ids] })
  return rows.map(toView)
}

interface ViewRow {
  id: string
  status: GenerationView['status']
  lane: GenerationView['lane']
  seq: number
  seed: number
  error: string | null
  created_at: Date
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
})
