import { setTimeout as delay } from 'node:timers/promises'
import type { HeldLock } from '../generation/ports.js'
import type { AuditDatabase } from './audit-database.js'
import { type Check, counted } from './check.js'

export interface Locks {
  /** Every lock there is, in pages. */
  all(): AsyncIterable<readonly HeldLock[]>
  /** Who holds it now, and for how long yet (-1: for ever); undefined: nobody. */
  look(accountId: string): Promise<{ readonly generationId: string; readonly ttlMs: number } | undefined>
}

/** A submit locks before its row exists, for this long; a longer lock was set for a row that was there. */
const SUBMIT_TTL_MS = 15_000
/** From a row's end to the release of its lock only a moment passes. */
const SECOND_LOOK_MS = 1000

/** Locks whose generation has ended, or never was. */
export async function lockCheck(db: AuditDatabase, locks: Locks): Promise<Check> {
  // By account: a scan may show a key twice.
  const suspects = new Map<string, HeldLock>()
  for await (const page of locks.all()) {
    for (const lock of await unjustified(db, page)) suspects.set(lock.accountId, lock)
  }
  if (suspects.size > 0) await delay(SECOND_LOOK_MS)
  const found: string[] = []
  for (const lock of suspects.values()) {
    const now = await locks.look(lock.accountId)
    if (now?.generationId !== lock.generationId) continue
    const [still] = await unjustified(db, [lock])
    if (still && (still.ended || now.ttlMs > SUBMIT_TTL_MS || now.ttlMs === -1)) found.push(lock.generationId)
  }
  return { name: 'locks-belong-to-active-jobs', ...counted(found) }
}

async function unjustified(db: AuditDatabase, page: readonly HeldLock[]): Promise<(HeldLock & { ended: boolean })[]> {
  const rows = await db.rows<{ id: string; ended: boolean }>(
    `SELECT id, status IN ('succeeded', 'failed') AS ended FROM generations WHERE id = ANY ($1)`,
    [page.map(({ generationId }) => generationId)],
  )
  const ended = new Map(rows.map((row) => [row.id, row.ended]))
  return page
    .filter(({ generationId }) => ended.get(generationId) !== false)
    .map((lock) => ({ ...lock, ended: ended.has(lock.generationId) }))
}
