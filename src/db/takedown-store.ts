import type { Takedowns } from '../generation/library/takedown.js'
import type { Database } from './client.js'

/** Claimed at a time. */
const PAGE = 10

export const takedownStore = ({ pool }: Database): Takedowns => ({
  async claimDue() {
    // The first wait is longer than a try may take, the last one about an hour.
    const { rows } = await pool.query<{ slug: string }>(
      `UPDATE picture_takedowns
          SET attempts = attempts + 1, due_at = now() + interval '15 seconds' * 2 ^ least(attempts, 8)
        WHERE slug = ANY (ARRAY(
                SELECT slug FROM picture_takedowns WHERE due_at <= now() ORDER BY due_at LIMIT ${PAGE} FOR UPDATE SKIP LOCKED))
       RETURNING slug`,
    )
    return rows.map(({ slug }) => slug)
  },

  async finish(slug) {
    await pool.query('DELETE FROM picture_takedowns WHERE slug = $1', [slug])
  },
})
