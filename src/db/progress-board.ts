import type { ProgressBoard } from '../generation/ports.js'
import type { Database } from './client.js'

/** One-machine mode: live progress in an unlogged table. */
export const postgresProgressBoard = ({ pool }: Database): ProgressBoard => ({
  async set(id, attempt, progress) {
    await pool.query({
      name: 'set_progress',
      text: `
        INSERT INTO generation_progress AS p (generation_id, attempt, progress) VALUES ($1, $2, $3)
        ON CONFLICT (generation_id) DO UPDATE SET attempt = excluded.attempt, progress = excluded.progress, updated_at = now()
          WHERE p.attempt <= excluded.attempt`,
      values: [id, attempt, progress],
    })
  },

  async get(ids) {
    const { rows } = await pool.query<{ id: string; progress: number }>({
      name: 'get_progress',
      text: 'SELECT generation_id AS id, progress FROM generation_progress WHERE generation_id = ANY ($1)',
      values: [ids],
    })
    return new Map(rows.map(({ id, progress }) => [id, progress]))
  },
})
