import type { AccountStore, ApiKeyKind, Caller } from '../account/account.js'
import type { Database } from './client.js'

interface CallerRow {
  key_id: string
  kind: ApiKeyKind
  concurrency: number
  stale: boolean
  user_id: string
  username: string
  credits: number
  deleted: boolean
  status: string | null
  plan: string | null
  end_date: Date | null
}

// The hottest statement of all, so it has a prepared name. "stale": the key's last use was noted over a minute ago.
const FIND_CALLER = {
  name: 'find_caller',
  text: `
    SELECT k.id AS key_id, k.kind, k.concurrency,
           (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute') AS stale,
           u.id AS user_id, u.username, u.credits, u.deleted_at IS NOT NULL AS deleted,
           s.status, s.plan, s.end_date
      FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN subscriptions s ON s.user_id = u.id
     WHERE k.hash = $1 AND k.revoked_at IS NULL`,
}

/** Keys are looked up anew on every request: what is revoked is refused at once, on every replica. */
export const accountStore = (db: Database): AccountStore => ({
  async findCaller(keyHash) {
    const { rows } = await db.pool.query<CallerRow>({ ...FIND_CALLER, values: [keyHash] })
    const row = rows[0]
    if (!row) return undefined
    if (row.stale) {
      // Only for display: nobody waits for it and its failure changes nothing.
      db.pool.query('UPDATE api_keys SET last_used_at = now() WHERE id = $1', [row.key_id]).catch(() => undefined)
    }
    return toCaller(row)
  },
})

function toCaller(row: CallerRow): Caller {
  const { status, plan, end_date: endDate } = row
  return {
    account: {
      id: row.user_id,
      username: row.username,
      credits: row.credits,
      subscription: status !== null && plan !== null && endDate ? { status, plan, endDate } : null,
      deleted: row.deleted,
    },
    keyId: row.key_id,
    keyKind: row.kind,
    concurrency: row.concurrency,
  }
}
