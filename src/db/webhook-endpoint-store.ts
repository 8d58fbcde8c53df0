import { pageOf } from '../page.js'
import type { EndpointStore } from '../webhooks/ports.js'
import type { DeliveryRecord, WebhookEndpoint } from '../webhooks/webhook.js'
import { type Database, withTransaction } from './client.js'

const VIEW = `id, url, description, events, created_at, disabled_reason`
const OWNED = `user_id = $1 AND id = $2 AND kind = 'account' AND deleted_at IS NULL`

const CREATE = `
  INSERT INTO webhook_endpoints (id, user_id, kind, url, description, events, secret)
  VALUES ($2, $1, 'account', $3, $4, $5, $6) RETURNING ${VIEW}`

const ROTATE = `
  UPDATE webhook_endpoints SET old_secret = secret, old_secret_until = now() + make_interval(hours => $4), secret = $3
   WHERE ${OWNED} RETURNING ${VIEW}`

// The delivery is stored and rung for at once, like the ones that the trigger of generations stores.
const ADD_TEST = `
  WITH stored AS (
    INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url)
    SELECT id, $3, 'test', url FROM webhook_endpoints WHERE ${OWNED} AND disabled_at IS NULL
    RETURNING seq
  )
  SELECT pg_notify('webhook_due', seq::text) FROM stored`

const LOG = `
  SELECT seq, event_id, type, generation_id, status, attempts, last_status, last_error, created_at, next_at, finished_at
    FROM webhook_deliveries WHERE endpoint_id = $1 AND seq < coalesce($2::bigint, 9223372036854775807)
   ORDER BY seq DESC LIMIT $3`

// A known origin is named anew, and then is not forgotten for long. Races may let a few more in.
const ADMIT_ORIGIN = `
  INSERT INTO webhook_endpoints (id, user_id, kind, url, events)
  SELECT $2, $1, 'request', $3, '{}'
   WHERE EXISTS (SELECT FROM webhook_endpoints WHERE user_id = $1 AND kind = 'request' AND url = $3)
      OR (SELECT count(*) FROM webhook_endpoints WHERE user_id = $1 AND kind = 'request') < $4
  ON CONFLICT (user_id, url) WHERE kind = 'request' DO UPDATE SET created_at = now()`

const REQUEST_SECRET = `
  WITH made AS (
    INSERT INTO webhook_secrets (user_id, secret) VALUES ($1, $2) ON CONFLICT (user_id) DO NOTHING RETURNING secret
  )
  SELECT secret FROM made UNION ALL SELECT secret FROM webhook_secrets WHERE user_id = $1`

interface EndpointRow {
  id: string
  url: string
  description: string
  events: WebhookEndpoint['events']
  created_at: Date
  disabled_reason: string | null
}

interface LogRow {
  seq: number
  event_id: string
  type: DeliveryRecord['type']
  generation_id: string | null
  status: DeliveryRecord['status']
  attempts: number
  last_status: number | null
  last_error: DeliveryRecord['lastError']
  created_at: Date
  next_at: Date
  finished_at: Date | null
}

export const webhookEndpointStore = (
  db: Database,
  newId: () => string,
  endWaiting: (endpointId: string) => Promise<void>,
): EndpointStore => {
  const { pool } = db
  return {
    create: (accountId, { id, url, description, events, secret }, limit) =>
      withTransaction(db, async (_tx, client) => {
        // The user's row is the lock: two at once count one after the other.
        await client.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [accountId])
        const { rows } = await client.query<{ n: number; deleted: boolean }>(
          `SELECT (SELECT count(*) FROM webhook_endpoints WHERE user_id = $1 AND kind = 'account' AND deleted_at IS NULL) AS n,
                  (SELECT deleted_at IS NOT NULL FROM users WHERE id = $1) AS deleted`,
          [accountId],
        )
        if (!rows[0] || rows[0].deleted || rows[0].n >= limit) return undefined
        const created = await client.query<EndpointRow>(CREATE, [accountId, id, url, description, events, secret])
        return created.rows[0] && toEndpoint(created.rows[0])
      }),

    async list(accountId) {
      const { rows } = await pool.query<EndpointRow>(
        `SELECT ${VIEW} FROM webhook_endpoints
          WHERE user_id = $1 AND kind = 'account' AND deleted_at IS NULL ORDER BY created_at, id`,
        [accountId],
      )
      return rows.map(toEndpoint)
    },

    async find(accountId, id) {
      const { rows } = await pool.query<EndpointRow>(`SELECT ${VIEW} FROM webhook_endpoints WHERE ${OWNED}`, [
        accountId,
        id,
      ])
      return rows[0] && toEndpoint(rows[0])
    },

    async remove(accountId, id) {
      const removed = await pool.query(`UPDATE webhook_endpoints SET deleted_at = now() WHERE ${OWNED}`, [
        accountId,
        id,
      ])
      if (removed.rowCount === 0) return false
      await endWaiting(id)
      return true
    },

    async rotateSecret(accountId, id, secret, oldForHours) {
      const { rows } = await pool.query<EndpointRow>(ROTATE, [accountId, id, secret, oldForHours])
      return rows[0] && toEndpoint(rows[0])
    },

    async addTest(accountId, id, eventId) {
      return (await pool.query(ADD_TEST, [accountId, id, eventId])).rowCount === 1
    },

    async deliveries(id, { limit, after }) {
      const { rows } = await pool.query<LogRow>(LOG, [id, after?.[0] ?? null, limit + 1])
      return pageOf(rows, limit, toRecord, ({ seq }) => [seq])
    },

    async admitOrigin(accountId, origin, secret, limit) {
      const admitted = await pool.query(ADMIT_ORIGIN, [accountId, newId(), origin, limit])
      if (admitted.rowCount === 0) return undefined
      for (;;) {
        // Neither made nor seen: another request made it in between.
        const { rows } = await pool.query<{ secret: string }>(REQUEST_SECRET, [accountId, secret])
        if (rows[0]) return rows[0].secret
      }
    },
  }
}

const toEndpoint = (row: EndpointRow): WebhookEndpoint => ({
  id: row.id,
  url: row.url,
  description: row.description,
  events: row.events,
  createdAt: row.created_at,
  disabledReason: row.disabled_reason,
})

const toRecord = (row: LogRow): DeliveryRecord => ({
  eventId: row.event_id,
  type: row.type,
  generationId: row.generation_id,
  status: row.status,
  attempts: row.attempts,
  lastStatus: row.last_status,
  lastError: row.last_error,
  createdAt: row.created_at,
  nextAt: row.status === 'pending' ? row.next_at : null,
  deliveredAt: row.status === 'delivered' ? row.finished_at : null,
})
