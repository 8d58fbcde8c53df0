import type { Database } from './client.js'

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

  /** Wipes where the user was told: a URL may name him, or hold a token. After `endAllOf`. */
  async forgetAllOf(userId: string): Promise<void> {
    await pool.query(
      `UPDATE webhook_deliveries SET url = '' WHERE endpoint_id IN (SELECT id FROM webhook_endpoints WHERE user_id = $1)`,
      [userId],
    )
    await pool.query(`UPDATE webhook_endpoints SET url = id, description = '' WHERE user_id = $1`, [userId])
  },
})
