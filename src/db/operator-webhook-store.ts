import type { Database } from './client.js'

/** Small enough for one statement's time limit, however much an endpoint was sent. */
const PAGE = 1000

/** Of endpoint $1, what comes after $2; says where the next page begins, null at the end. */
const WIPE_URLS = `
  WITH page AS (
    SELECT seq FROM webhook_deliveries WHERE endpoint_id = $1 AND seq > $2 ORDER BY seq LIMIT ${PAGE}
  ), wiped AS (
    UPDATE webhook_deliveries SET url = '' WHERE seq = ANY (ARRAY(SELECT seq FROM page)) AND url <> ''
  )
  SELECT max(seq) AS last FROM page`

export const operatorWebhookStore = ({ pool }: Database) => ({
  /** Nothing of the user's is told anywhere any more; what waits is given up by the servers. */
  async endAllOf(userId: string): Promise<void> {
    await pool.query(
      `UPDATE webhook_endpoints SET deleted_at = now(), secret = CASE kind WHEN 'account' THEN '' END, old_secret = NULL
        WHERE user_id = $1 AND deleted_at IS NULL`,
      [userId],
    )
    await pool.query('DELETE FROM webhook_secrets WHERE user_id = $1', [userId])
  },

  /** Wipes where the user was told: a URL may name them, or hold a token. After `endAllOf`; can be repeated. */
  async forgetAllOf(userId: string): Promise<void> {
    const endpoints = await pool.query<{ id: string }>('SELECT id FROM webhook_endpoints WHERE user_id = $1', [userId])
    for (const { id } of endpoints.rows) {
      for (let after: number | null = 0; after !== null; ) {
        const wiped: { rows: { last: number | null }[] } = await pool.query(WIPE_URLS, [id, after])
        after = wiped.rows[0]?.last ?? null
      }
      await pool.query(`UPDATE webhook_endpoints SET url = id, description = '' WHERE id = $1`, [id])
    }
  },

  /**
   * Replaces what signs the user's webhook_urls; the old secret signs beside the new one for so long.
   * @returns until when; undefined when there is none to replace
   */
  async rotateSecret(userId: string, secret: string, oldForHours: number): Promise<Date | undefined> {
    const { rows } = await pool.query<{ until: Date }>(
      `UPDATE webhook_secrets SET old_secret = secret, old_secret_until = now() + make_interval(hours => $3), secret = $2
        WHERE user_id = $1 RETURNING old_secret_until AS until`,
      [userId, secret, oldForHours],
    )
    return rows[0]?.until
  },
})
