import { failpoint, guardOff, type SwitchableGuard } from '../../failpoint.js'
import { clearLeftovers, type LeftoverPorts } from '../cancel.js'
import type { Lacking } from '../failure-reason.js'
import type { EndedGeneration, ReconcileStore } from '../ports.js'
import type { RunLog } from '../run/run.js'

/** A duty that one process at a time does. */
export interface DutyLease {
  /** Takes or renews the duty; false while another process has it. */
  hold(): Promise<boolean>
  release(): Promise<void>
}

export interface ReconcilePorts extends LeftoverPorts {
  readonly rows: ReconcileStore
  /** Something in Redis that a wipe takes along; `set` puts it back. */
  readonly sentinel: { present(): Promise<boolean>; set(): Promise<void> }
  readonly duty: DutyLease
  readonly log: RunLog
}

export interface Pass {
  /** Look at everything, not only at what is known to be new. */
  readonly full: boolean
  /** Whether a lease that has run out tells of a lost worker. */
  readonly leasesCount: boolean
}

/** Told of a rule that could not do its work; the next pass tries again. */
export type OnFault = (rule: string, error: unknown) => void

/** Locks outlive their generation's deadline by this much, so that they never end before it. */
export const LOCK_MARGIN_MS = 60_000

const LACKING: readonly Lacking[] = ['model', 'sampler', 'seed', 'size', 'cfg_scale']

/**
 * Heals what a crash left behind: Postgres is the truth, the queue and the locks are made to follow it. Every rule is
 * guarded by its own condition, so that two reconcilers at once do no harm, and fails for itself.
 * @returns whether Redis is known to follow Postgres; true where that was not looked at
 */
export async function reconcile(
  ports: ReconcilePorts,
  { full, leasesCount }: Pass,
  onFault: OnFault = (rule, err) => ports.log.warn({ err, rule }, 'a rule of the reconciler failed'),
): Promise<boolean> {
  const { rows, images } = ports
  const attempt = async (name: string, work: () => Promise<unknown>): Promise<boolean> => {
    try {
      return (await work()) !== false
    } catch (error) {
      onFault(name, error)
      return false
    }
  }
  const end = (name: SwitchableGuard, which: () => Promise<readonly EndedGeneration[]>) =>
    attempt(name, async () => clearEnded(ports, await rule(name, which)))

  // The second one not after a fault of the first: Postgres may have stood still, and the leases with it.
  if (leasesCount && (await attempt('reconcile.requeue_lost', () => requeueLost(ports))))
    await end('reconcile.fail_lost', rows.failLost)
  await attempt('reconcile.ring', () => ring(ports))
  await end('reconcile.fail_expired', rows.failExpired)
  for (const lacking of LACKING) await end('reconcile.fail_unservable', () => rows.failUnservable(lacking))

  const wiped = !guardOff('reconcile.notice_wipe') && !(await ports.sentinel.present())
  const restored = !(full || wiped) || (await attempt('reconcile.restore', () => restore(ports)))
  if (full) {
    await attempt('reconcile.clear_locks', () => clearLocks(ports))
    await attempt('reconcile.sweep', async () => {
      for (const slug of await rule('reconcile.sweep', rows.wastedSlugs))
        await images.remove(slug).catch(() => undefined)
    })
    if (!guardOff('reconcile.clean')) await attempt('reconcile.clean', rows.clean)
  }
  return restored
}

/** What a rule has found to do: nothing where a chaos run has switched it off. */
const rule = async <T>(name: SwitchableGuard, look: () => Promise<readonly T[]>): Promise<readonly T[]> =>
  guardOff(name) ? [] : look()

async function requeueLost({ rows, log }: ReconcilePorts): Promise<void> {
  const requeued = await rule('reconcile.requeue_lost', rows.requeueLost)
  if (requeued.length === 0) return
  log.warn({ generations: requeued.map(({ id }) => id) }, 'generations of lost workers put back in their place')
  await failpoint('reconcile.after_requeue_lost')
}

async function clearEnded(ports: ReconcilePorts, ended: readonly EndedGeneration[]): Promise<void> {
  for (const generation of ended) {
    ports.log.warn({ generationId: generation.id, reason: generation.reason }, 'generation ended by the reconciler')
    await failpoint('reconcile.after_fail')
    await clearLeftovers(ports, generation)
  }
}

async function ring({ rows, queue }: ReconcilePorts): Promise<void> {
  for (;;) {
    const unrung = await rule('reconcile.ring', rows.unrung)
    if (unrung.length === 0 || !(await queue.ring(unrung))) break
    await failpoint('reconcile.after_ring')
    await rows.markRung(unrung)
    await failpoint('reconcile.after_mark')
  }
}

/**
 * At start, once a minute, and when Redis has lost its keys; the sentinel comes last, so that what failed is tried again.
 * The queue needs no bell for each that waits: whoever hears one works until nothing is left that they can do, so a bell
 * for each that may be idle is enough, however long the queue.
 * @returns whether that is known to have worked
 */
async function restore({ rows, lock, queue, sentinel }: ReconcilePorts): Promise<boolean> {
  await failpoint('reconcile.before_locks')
  for (let after: string | undefined, more = true; more; ) {
    const page = await rule('reconcile.restore_locks', () => rows.activePage(after))
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
  if (first.length > 0 && !(await queue.ring(first))) return false
  await failpoint('reconcile.before_sentinel')
  await sentinel.set()
  return true
}

/** A lock whose generation has ended is a leftover; one whose generation is not known yet belongs to a submit and expires. */
async function clearLocks({ rows, lock }: ReconcilePorts): Promise<void> {
  for await (const locks of lock.all()) {
    const holders = locks.map(({ generationId }) => generationId)
    const ended = new Set(await rule('reconcile.clear_locks', () => rows.endedAmong(holders)))
    for (const { accountId, generationId } of locks) {
      if (ended.has(generationId)) await lock.release(accountId, generationId)
    }
  }
}
