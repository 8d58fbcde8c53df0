import { guardOff } from '../../failpoint.js'
import type { Log } from '../../log.js'
import type { LeftoverPorts } from '../cancel.js'
import type { Lacking } from '../failure-reason.js'
import { clearLocks, type EndedGenerations } from './clear-locks.js'
import { endOverdue, type OverdueGenerations } from './end-overdue.js'
import { enqueueMissing, type MissingJobs } from './enqueue-missing.js'
import { type LostAttempts, requeueLost } from './requeue-lost.js'
import { type ActiveGenerations, isWiped, restoreRedis, type WipeMark } from './restore-redis.js'
import { sweepImages, type WastedSlugs } from './sweep-images.js'

/** What the rules read and mend in Postgres. Each is guarded by its own condition, so two reconcilers at once do no harm. */
export interface ReconcileStore
  extends LostAttempts,
    OverdueGenerations,
    MissingJobs,
    ActiveGenerations,
    EndedGenerations,
    WastedSlugs {
  /** Deletes what has expired. */
  clean(): Promise<void>
}

export interface ReconcilePorts extends LeftoverPorts {
  readonly rows: ReconcileStore
  readonly wipeMark: WipeMark
  readonly log: Log
}

interface Pass {
  /** Look at everything, not only at what is known to be new. */
  readonly full: boolean
  /** Whether a lease that has run out tells of a lost worker. */
  readonly leasesCount: boolean
}

/** Told of a rule that failed; the next pass tries again. */
export type OnFault = (rule: string, error: unknown) => void

const LACKING: readonly Lacking[] = ['model', 'sampler', 'seed', 'size', 'cfg_scale']

/**
 * Repairs what a crash left behind: Postgres is the truth, the queue and the locks follow it. A rule that fails does not
 * stop the others.
 * @returns whether Redis is known to follow Postgres; true where that was not looked at
 */
export async function reconcile(
  ports: ReconcilePorts,
  { full, leasesCount }: Pass,
  onFault: OnFault = (rule, err) => ports.log.warn({ err, rule }, 'a rule of the reconciler failed'),
): Promise<boolean> {
  const { rows, lock, queue, images, wipeMark, log } = ports
  /** Resolves to whether the rule did its work. */
  const attempt = async (rule: string, work: () => Promise<unknown>): Promise<boolean> => {
    try {
      return (await work()) !== false
    } catch (error) {
      onFault(rule, error)
      return false
    }
  }

  // Not failLost after a fault of requeueLost: Postgres may have stood still, and the leases with it.
  if (leasesCount && (await attempt('reconcile.requeue_lost', () => requeueLost(rows, log))))
    await attempt('reconcile.fail_lost', () => endOverdue(ports, 'reconcile.fail_lost', rows.failLost))
  await attempt('reconcile.enqueue', () => enqueueMissing(rows, queue))
  await attempt('reconcile.fail_expired', () => endOverdue(ports, 'reconcile.fail_expired', rows.failExpired))
  for (const lacking of LACKING)
    await attempt('reconcile.fail_unservable', () =>
      endOverdue(ports, 'reconcile.fail_unservable', () => rows.failUnservable(lacking)),
    )
  const restores = full || (await isWiped(wipeMark))
  const restored = !restores || (await attempt('reconcile.restore', () => restoreRedis(ports)))
  if (full) {
    await attempt('reconcile.clear_locks', () => clearLocks(rows, lock))
    await attempt('reconcile.sweep', () => sweepImages(rows, images))
    if (!guardOff('reconcile.clean')) await attempt('reconcile.clean', rows.clean)
  }
  return restored
}
