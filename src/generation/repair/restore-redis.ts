import { failpoint, guardOff } from '../../failpoint.js'
import { type ActiveGenerationLock, LOCK_MARGIN_MS } from '../active-lock.js'
import type { Delivery, GenerationQueue } from '../queue.js'
import { found } from './rule.js'

/** A key in Redis that is lost with all others: if it is missing, Redis was wiped. */
export interface WipeMark {
  present(): Promise<boolean>
  set(): Promise<void>
}

export interface ActiveGenerations {
  /** Charged active generations, in pages by account. */
  activePage(afterAccountId: string | undefined): Promise<{ id: string; accountId: string; remainingMs: number }[]>
  /** The first of what is queued: more than there are backends that may be idle. */
  firstQueued(): Promise<Delivery[]>
}

interface RestorePorts {
  readonly rows: ActiveGenerations
  readonly lock: ActiveGenerationLock
  readonly queue: GenerationQueue
  readonly wipeMark: WipeMark
}

/** Whether Redis has lost its keys. */
export const isWiped = async (wipeMark: WipeMark): Promise<boolean> =>
  !guardOff('reconcile.notice_wipe') && !(await wipeMark.present())

/**
 * Sets the locks of all active generations anew and enqueues the first that wait. Not all of them: a worker that hears of
 * one works until it finds nothing more that it can do, so one job for each backend that may be idle is enough. The
 * wipe mark comes last, so that what failed is tried again.
 * @returns whether that is known to have worked
 */
export async function restoreRedis({ rows, lock, queue, wipeMark }: RestorePorts): Promise<boolean> {
  await failpoint('reconcile.before_locks')
  for (let after: string | undefined, more = true; more; ) {
    const page = await found('reconcile.restore_locks', () => rows.activePage(after))
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
