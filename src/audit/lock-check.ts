import { sql } from 'drizzle-orm'
import { generations as g } from '../db/schema.js'
import type { HeldLock } from '../generation/shared-ports.js'
import type { AuditDatabase } from './audit-database.js'
import { type AuditRedis, ask, keysLike } from './audit-redis.js'
import { counted, type Finding, suspected } from './check.js'

/** How long a submit's lock lasts before its row exists; a lock that lasts longer is of a stored row. */
const SUBMIT_TTL_MS = 15_000
/** A lock is released shortly after its row ends. */
const RELEASED_WITHIN_MS = 2000
const FOREVER = -1

/** Counts locks that no active charged generation of their account holds: they keep the account from submitting. */
export async function lockCheck(db: AuditDatabase, redis: AuditRedis): Promise<Finding> {
  // By account, because a scan may return a key twice.
  const suspects = new Map<string, HeldLock>()
  for await (const page of heldLocks(redis)) {
    for (const lock of await unjustified(db, page)) suspects.set(lock.accountId, lock)
  }
  const repeat = async () => {
    const found: string[] = []
    for (const lock of suspects.values()) {
      const key = keyOf(redis, lock.accountId)
      const [holder, ttlMs] = await ask(Promise.all([redis.client.get(key), redis.client.pttl(key)]))
      const [still] = holder === lock.generationId ? await unjustified(db, [lock]) : []
      if (still && (still.known || ttlMs === FOREVER || ttlMs > SUBMIT_TTL_MS)) found.push(lock.generationId)
    }
    return counted(found)
  }
  const first = counted([...suspects.values()].map(({ generationId }) => generationId))
  return suspected(first, RELEASED_WITHIN_MS, repeat)
}

/** As redis/active-generation-lock.ts names it. */
const keyOf = ({ namespace }: AuditRedis, accountId: string) => `${namespace}:lock:${accountId}`

async function* heldLocks(redis: AuditRedis): AsyncGenerator<HeldLock[]> {
  const start = keyOf(redis, '').length
  for await (const keys of keysLike(redis.client, keyOf(redis, '*'))) {
    const holders = await ask(redis.client.mget(keys))
    yield keys.flatMap((key, i) => {
      const generationId = holders[i]
      return generationId ? [{ accountId: key.slice(start), generationId }] : []
    })
  }
}

/** `known`: the generation exists, but has ended, is metered or another account's. */
async function unjustified(db: AuditDatabase, page: readonly HeldLock[]): Promise<(HeldLock & { known: boolean })[]> {
  const rows = await db.rows<{ id: string; holder: string | null }>(sql`
    SELECT ${g.id}, CASE WHEN ${g.status} IN ('queued', 'processing') AND NOT ${g.metered} THEN ${g.userId}::text END AS holder
      FROM ${g} WHERE ${g.id} = ANY (${sql.param(page.map(({ generationId }) => generationId))})`)
  const holders = new Map(rows.map(({ id, holder }) => [id, holder]))
  return page
    .filter(({ accountId, generationId }) => holders.get(generationId) !== accountId)
    .map((lock) => ({ ...lock, known: holders.has(lock.generationId) }))
}
