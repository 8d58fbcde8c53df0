import { failpoint, guardOff } from '../../failpoint.js'
import { clearLeftovers, type EndedGeneration } from '../cancel.js'
import { LOCK_MARGIN_MS } from '../shared-ports.js'
import type { ReconcilePorts } from './ports.js'

/** A worker that died or stood still loses its attempt; the generation keeps its place in the queue. */
export async function requeueLost({ rows, log }: ReconcilePorts): Promise<void> {
  const requeued = await rows.requeueLost()
  if (requeued.length === 0) return
  log.warn({ generations: requeued.map(({ id }) => id) }, 'generations of lost workers requeued')
  await failpoint('reconcile.after_requeue_lost')
}

/** Enqueues attempts whose job did not reach Redis; stops at the first page that Redis refuses. */
export async function enqueueMissing({ rows, queue }: ReconcilePorts): Promise<void> {
  for (;;) {
    const missing = await rows.notEnqueued()
    if (missing.length === 0 || !(await queue.enqueue(missing))) return
    await failpoint('reconcile.after_enqueue')
    await rows.markEnqueued(missing)
    await failpoint('reconcile.after_mark')
  }
}

/** Fails generations that can no longer succeed, and releases what they hold outside Postgres. */
export async function endOverdue(ports: ReconcilePorts, end: () => Promise<EndedGeneration[]>): Promise<void> {
  for (const generation of await end()) {
    ports.log.warn({ generationId: generation.id, reason: generation.reason }, 'generation ended by the reconciler')
    await failpoint('reconcile.after_fail')
    await clearLeftovers(ports, generation)
  }
}

/** Whether Redis has lost its keys. */
export const isWiped = async ({ wipeMark }: ReconcilePorts): Promise<boolean> =>
  !guardOff('reconcile.notice_wipe') && !(await wipeMark.present())

/**
 * Sets the locks of all active generations again and enqueues the first queued ones: a worker that gets a job claims
 * until nothing is left that it can do, so one job per backend that may be idle is enough. The wipe mark is set last,
 * so that a failed restore is retried.
 * @returns whether all of it is known to have worked
 */
export async function restoreRedis({ rows, lock, queue, wipeMark }: ReconcilePorts): Promise<boolean> {
  await failpoint('reconcile.before_locks')
  for (let after: string | undefined, more = !guardOff('reconcile.restore_locks'); more; ) {
    const page = await rows.activePage(after)
    more = page.length > 0
    const locks = page.map(({ id, accountId, remainingMs }) => ({
      accountId,
      generationId: id,
      ttlMs: remainingMs + LOCK_MARGIN_MS,
    }))
    if (!(await lock.keep(locks))) return false
    after = page.at(-1)?.accountId
  }
  const first = await rows.firstQueued()
  if (first.length > 0 && !(await queue.enqueue(first))) return false
  await failpoint('reconcile.before_mark')
  await wipeMark.set()
  return true
}

/** Releases locks whose generation has ended. A lock of an unstored generation belongs to a submit, and expires. */
export async function clearLocks({ rows, lock }: ReconcilePorts): Promise<void> {
  for await (const locks of lock.all()) {
    const ended = new Set(await rows.endedAmong(locks.map(({ generationId }) => generationId)))
    for (const { accountId, generationId } of locks)
      if (ended.has(generationId)) await lock.release(accountId, generationId)
  }
}

/** Removes image files of failed generations. */
export async function sweepImages({ rows, images }: ReconcilePorts): Promise<void> {
  for (const slug of await rows.wastedSlugs()) await images.remove(slug).catch(() => undefined)
}
