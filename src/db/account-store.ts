import type { AccountStore, ApiKeyKind, Caller } from '../account/account.js'
import type { Database } from './client.js'
import { STATUS_NOW } from './operator-subscription-store.js'

interface CallerRow {
  hash: Buffer
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

// "stale": the key's last use was noted over a minute ago.
const CALLERS = `
    SELECT k.hash, k.id AS key_id, k.kind, k.concurrency,
           (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute') AS stale,
           u.id AS user_id, u.username, u.credits, u.deleted_at IS NOT NULL AS deleted,
           ${STATUS_NOW} AS status, s.plan, s.end_date
      FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN subscriptions s ON s.user_id = u.id
     WHERE k.revoked_at IS NULL`
// The hottest statement of all, so it has a prepared name.
const FIND_CALLER = { name: 'find_caller', text: `${CALLERS} AND k.hash = $1` }
const FIND_CALLERS = { name: 'find_callers', text: `${CALLERS} AND k.hash = ANY ($1::bytea[])` }

/** Keys are looked up anew on every request: what is revoked is refused at once, on every replica. */
export const accountStore = ({ pool }: Database): AccountStore => {
  const find = async (query: { readonly name: string; readonly text: string }, value: unknown) => {
    const { rows } = await pool.query<CallerRow>({ ...query, values: [value] })
    const stale = rows.filter((row) => row.stale).map((row) => row.key_id)
    // Only for display: nobody waits for it and its failure changes nothing.
    if (stale.length > 0)
      pool.query('UPDATE api_keys SET last_used_at = now() WHERE id = ANY ($1)', [stale]).catch(() => undefined)
    return rows
  }
  return {
    async findCaller(keyHash) {
      const [row] = await find(FIND_CALLER, keyHash)
      return row && toCaller(row)
    },
    async findCallers(keyHashes) {
      const rows = await find(FIND_CALLERS, keyHashes)
      const callers = new Map(rows.map((row) => [row.hash.toString('hex'), toCaller(row)]))
      return keyHashes.map((hash) => callers.get(hash.toString('hex')))
    },
  }
}

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
