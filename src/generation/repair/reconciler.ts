import { restingLooks } from './end-overdue.js'
import { type OnFault, type ReconcilePorts, reconcile } from './reconcile.js'
import { removeInBackground } from './sweep-images.js'

/** A duty that one process at a time does. */
export interface DutyLease {
  /** Takes or renews the duty; false while another process has it. */
  hold(): Promise<boolean>
  release(): Promise<void>
}

export interface ReconcilerPorts extends ReconcilePorts {
  readonly duty: DutyLease
}

const EVERY_MS = 500
/** If the duty is renewed this late, Postgres or this process stood still, and leases ran out that nobody could renew. */
const STOOD_STILL_MS = 4000
/** Workers then get this long to renew their leases or to put their generations back. */
const GRACE_MS = 5000
const FULL_EVERY_MS = 60_000
/** After a full pass in which something failed. */
const FULL_AGAIN_MS = 5000
/** Well within the duty's lease. */
const RENEW_MS = 700
/** A pass that takes longer hangs: another process takes over. */
const RENEWED_FOR_MS = 120_000
/** A rule that keeps failing is logged this rarely. */
const QUIET_MS = 10_000

/** Runs the reconciler in every process; the duty's lease lets one at a time do the work. */
export function startReconciler(ports: ReconcilerPorts): { stop(): Promise<void> } {
  const images = removeInBackground(ports.images)
  const rows = { ...ports.rows, failUnservable: restingLooks(ports.rows.failUnservable) }
  const its = { ...ports, images, rows }
  const onFault = quietly((rule, err) => ports.log.warn({ err, rule }, 'a rule of the reconciler failed'))
  let stopped = false
  let fullAt = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let reachedAt = performance.now()
  let graceUntil = 0

  const hold = async () => {
    const duty = await ports.duty.hold()
    const now = performance.now()
    if (now - reachedAt > STOOD_STILL_MS) graceUntil = now + GRACE_MS
    reachedAt = now
    return duty
  }

  const pass = async () => {
    try {
      if (await hold()) {
        const now = performance.now()
        const full = now >= fullAt
        const letGo = renewing(hold)
        const restored = await reconcile(its, { full, leasesCount: now >= graceUntil }, onFault).finally(letGo)
        if (full) fullAt = now + (restored ? FULL_EVERY_MS : FULL_AGAIN_MS)
      } else {
        // A process that takes over begins with a full pass.
        fullAt = 0
      }
    } catch (err) {
      // After a crash of Postgres the list of what is not enqueued may be incomplete.
      fullAt = 0
      onFault('pass', err)
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
      images.stop()
      await running
      await ports.duty.release().catch(() => undefined)
    },
  }
}

/** Renews the duty during a pass: the next holder would begin with a full pass. */
function renewing(hold: DutyLease['hold']): () => Promise<void> {
  const until = performance.now() + RENEWED_FOR_MS
  let renewal: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    if (performance.now() < until) renewal = hold().catch(() => undefined)
  }, RENEW_MS)
  return async () => {
    clearInterval(timer)
    await renewal
  }
}

function quietly(tell: OnFault): OnFault {
  const toldAt = new Map<string, number>()
  return (rule, error) => {
    const last = toldAt.get(rule)
    if (last !== undefined && performance.now() - last < QUIET_MS) return
    toldAt.set(rule, performance.now())
    tell(rule, error)
  }
}
