import type { PreviewBoard } from '../generation/follow-ports.js'
import type { Database } from './client.js'

/** One-machine mode: live previews in an unlogged table. */
export const postgresPreviewBoard = ({ pool }: Database): PreviewBoard => ({
  async set(id, attempt, image) {
    await pool.query({
      name: 'set_preview',
      text: `
        INSERT INTO generation_previews AS p (generation_id, attempt, image) VALUES ($1, $2, $3)
        ON CONFLICT (generation_id) DO UPDATE SET attempt = excluded.attempt, image = excluded.image, updated_at = now()
          WHERE p.attempt <= excluded.attempt`,
      values: [id, attempt, image],
    })
  },

  async get(ids) {
    const { rows } = await pool.query<{ id: string; image: Buffer }>({
      name: 'get_previews',
      text: 'SELECT generation_id AS id, image FROM generation_previews WHERE generation_id = ANY ($1)',
      values: [ids],
    })
    return new Map(rows.map(({ id, image }) => [id, image]))
  },
})
