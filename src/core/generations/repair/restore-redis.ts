import { setTimeout as delay } from 'node:timers/promises'
import { LOCK_MARGIN_MS } from '../ports.js'
import type { ReconcilePorts } from './ports.js'

/**
 * Sets the locks of all active generations again, enqueues the first queued ones, and clears locks of ended generations.
 * A worker that gets a job claims until nothing is left that it can do, so one job per backend that may be idle is
 * enough. The wipe mark is set last, so that a restore that failed, or amid which Redis was wiped again, is retried.
 * @returns whether all of it is known to have worked
 */
export async function restoreRedis(ports: ReconcilePorts): Promise<boolean> {
  const { rows, lock, queue, wipeMark } = ports
  await wipeMark.begin()
  for (let after: string | undefined, more = true; more; ) {
    const begunAt = performance.now()
    const page = await rows.activePage(after)
    more = page.length > 0
    const locks = page.map(({ id, accountId, remainingMs }) => ({
      accountId,
      generationId: id,
      ttlMs: remainingMs + LOCK_MARGIN_MS,
    }))
    if (!(await lock.keep(locks))) return false
    after = page.at(-1)?.accountId
    // As long as the page took, so that requests get half of the time.
    await delay(performance.now() - begunAt)
  }
  const first = await rows.firstQueued()
  if (first.length > 0 && !(await queue.enqueue(first))) return false
  // After the locks were set: a generation may have ended meanwhile.
  await clearLocks(ports)
  return wipeMark.finish()
}

/** A lock of an unstored generation belongs to a submit, and expires. */
async function clearLocks({ rows, lock }: ReconcilePorts): Promise<void> {
  for await (const locks of lock.all()) {
    const ended = new Set(await rows.endedAmong(locks.map(({ generationId }) => generationId)))
    const stale = locks.filter(({ generationId }) => ended.has(generationId))
    await Promise.all(stale.map(({ accountId, generationId }) => lock.release(accountId, generationId)))
  }
}
