import type { LiveBoard, PreviewBoard, ProgressBoard } from '../generation/live-board.js'
import type { Database } from './client.js'

/** One-machine mode: boards in unlogged tables. */
const postgresBoard = <T>({ pool }: Database, table: string, column: string): LiveBoard<T> => ({
  async set(id, attempt, value) {
    await pool.query({
      name: `set_${column}`,
      text: `
        INSERT INTO ${table} AS b (generation_id, attempt, ${column}) VALUES ($1, $2, $3)
        ON CONFLICT (generation_id) DO UPDATE SET attempt = excluded.attempt, ${column} = excluded.${column}, updated_at = now()
          WHERE b.attempt <= excluded.attempt`,
      values: [id, attempt, value],
    })
  },

  async get(ids) {
    const { rows } = await pool.query<{ id: string; value: T }>({
      name: `get_${column}`,
      text: `SELECT generation_id AS id, ${column} AS value FROM ${table} WHERE generation_id = ANY ($1)`,
      values: [ids],
    })
    return new Map(rows.map(({ id, value }) => [id, value]))
  },
})

export const postgresProgressBoard = (db: Database): ProgressBoard =>
  postgresBoard(db, 'generation_progress', 'progress')

export const postgresPreviewBoard = (db: Database): PreviewBoard => postgresBoard(db, 'generation_previews', 'image')
