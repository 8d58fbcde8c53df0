import { failpoint, guardOff, type SwitchableGuard } from '../failpoint.js'
import { clearLeftovers, type LeftoverPorts } from './cancel.js'
import type { DutyLease, ReconcileStore } from './ports.js'
import type { RunLog } from './run.js'

export interface ReconcilePorts extends LeftoverPorts {
  readonly rows: ReconcileStore
  /** Something in Redis that a wipe takes along; `set` puts it back once all has been rebuilt. */
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

const EVERY_MS = 500
/** A pass this late means that Postgres, or this process, stood still: leases ran out that nobody could renew. */
const STOOD_STILL_MS = 4000
/** What workers get then to renew their leases, or to put their generations back. */
const GRACE_MS = 5000
const FULL_EVERY_MS = 60_000
/** Locks outlive their generation's deadline by this much, so that they never end before it. */
export const LOCK_MARGIN_MS = 60_000

/**
 * Heals what a crash left behind: Postgres is the truth, the queue and the locks are made to follow it. Every rule is
 * guarded by its own condition, so that two reconcilers at once do no harm.
 */
export async function reconcile(ports: ReconcilePorts, { full, leasesCount }: Pass): Promise<void> {
  const { rows, queue, log } = ports
  const requeued = leasesCount ? await rule('reconcile.requeue_lost', rows.requeueLost) : []
  if (requeued.length > 0) await failpoint('reconcile.after_requeue_lost')
  const ended = [
    ...(leasesCount ? await rule('reconcile.fail_lost', rows.failLost) : []),
    ...(await rule('reconcile.fail_expired', rows.failExpired)),
    ...(await rule('reconcile.fail_unservable', rows.failUnservable)),
  ]
  if (requeued.length > 0) {
    log.warn({ generations: requeued.map(({ id }) => id) }, 'generations of lost workers put back in their place')
  }
  for (const generation of ended) {
    log.warn({ generationId: generation.id }, 'generation ended by the reconciler')
    await failpoint('reconcile.after_fail')
    await clearLeftovers(ports, generation)
  }
  for (;;) {
    const unrung = await rule('reconcile.ring', rows.unrung)
    if (unrung.length === 0 || !(await queue.ring(unrung))) break
    await failpoint('reconcile.after_ring')
    await rows.markRung(unrung)
    await failpoint('reconcile.after_mark')
  }
  if (full || (!guardOff('reconcile.notice_wipe') && !(await ports.sentinel.present()))) await rebuild(ports)
}

/** What a rule has found to do: nothing where a chaos run has switched it off. */
const rule = async <T>(name: SwitchableGuard, look: () => Promise<readonly T[]>): Promise<readonly T[]> =>
  guardOff(name) ? [] : look()

/** Everything anew, in pages: at start, once a minute, and when Redis has lost its keys. */
async function rebuild({ rows, queue, lock, sentinel, images }: ReconcilePorts): Promise<void> {
  for (let after = 0, more = true; more; ) {
    const page = await rows.queuedPage(after)
    more = page.length > 0
    if (more && !(await queue.ring(page))) return
    after = page.at(-1)?.seq ?? after
  }
  await failpoint('reconcile.before_locks')
  for (let after: string | undefined, more = true; more; ) {
    const page = await rule('reconcile.restore_locks', () => rows.activePage(after))
    more = page.length > 0
    const locks = page.map(({ id, accountId, remainingMs }) => ({
      accountId,
      generationId: id,
      ttlMs: remainingMs + LOCK_MARGIN_MS,
    }))
    // Without the sentinel the next pass begins anew.
    if (!(await lock.keep(locks))) return
    after = page.at(-1)?.accountId
  }
  // A lock whose generation has ended is a leftover; one whose generation is not known yet belongs to a submit and expires.
  for await (const locks of lock.all()) {
    const holders = locks.map(({ generationId }) => generationId)
    const ended = new Set(await rule('reconcile.clear_locks', () => rows.endedAmong(holders)))
    for (const { accountId, generationId } of locks) {
      if (ended.has(generationId)) await lock.release(accountId, generationId)
    }
  }
  await failpoint('reconcile.before_sentinel')
  await sentinel.set()
  for (const slug of await rule('reconcile.sweep', rows.wastedSlugs)) await images.remove(slug).catch(() => undefined)
  if (!guardOff('reconcile.clean')) await rows.clean()
}

/** Runs the reconciler in every process; the duty's lease lets one at a time do the work. */
export function startReconciler(ports: ReconcilePorts): { stop(): Promise<void> } {
  let stopped = false
  let fullAt = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let reachedAt = performance.now()
  let graceUntil = 0

  const pass = async () => {
    try {
      const duty = await ports.duty.hold()
      const now = performance.now()
      if (now - reachedAt > STOOD_STILL_MS) graceUntil = now + GRACE_MS
      reachedAt = now
      if (duty) {
        const full = now >= fullAt
        await reconcile(ports, { full, leasesCount: now >= graceUntil })
        if (full) fullAt = now + FULL_EVERY_MS
      } else {
        // Whoever takes over begins with everything.
        fullAt = 0
      }
    } catch (err) {
      ports.log.warn({ err }, 'reconciler pass failed')
    }
    if (!stopped) timer = setTimeout(start, EVERY_MS)
  }
  const start = () => {
    running = pass()
  }
  start()

  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
      await ports.duty.release().catch(() => undefined)
    },
  }
}
