import type { Lacking } from '../failure-reason.js'
import type { ReconcileStore } from '../ports.js'
import { removeInBackground } from './background-removal.js'
import { type DutyLease, type OnFault, type ReconcilePorts, reconcile } from './reconcile.js'

const EVERY_MS = 500
/** A duty that is renewed this late means that Postgres, or this process, stood still: leases ran out that nobody could renew. */
const STOOD_STILL_MS = 4000
/** What workers get then to renew their leases, or to put their generations back. */
const GRACE_MS = 5000
const FULL_EVERY_MS = 60_000
/** After a full pass that could not do all. */
const FULL_AGAIN_MS = 5000
/** Well within the duty's lease. */
const RENEW_MS = 700
/** A pass that takes longer hangs: somebody else had better try. */
const RENEWED_FOR_MS = 120_000
/** A look at the whole queue rests for so many times as long as it took. */
const LOOK_RESTS = 20
const LOOK_RESTS_AT_MOST_MS = 30_000
/** A rule that fails does so twice a second; one line in a while says as much. */
const QUIET_MS = 10_000

/** Runs the reconciler in every process; the duty's lease lets one at a time do the work. */
export function startReconciler(ports: ReconcilePorts): { stop(): Promise<void> } {
  const images = removeInBackground(ports.images)
  const rows = { ...ports.rows, failUnservable: sparingly(ports.rows.failUnservable) }
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
        // Whoever takes over begins with everything.
        fullAt = 0
      }
    } catch (err) {
      // Postgres may have crashed, and have forgotten what nobody has rung for.
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

/** Keeps the duty while a pass goes on: one that was handed on would begin anew, with everything. */
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

/** It looks at the whole queue: however long that is, one that finds nothing takes a small part of the time. */
function sparingly(look: ReconcileStore['failUnservable']): ReconcileStore['failUnservable'] {
  const nextAt = new Map<Lacking, number>()
  return async (lacking) => {
    const startedAt = performance.now()
    if (startedAt < (nextAt.get(lacking) ?? 0)) return []
    let found = 0
    try {
      const ended = await look(lacking)
      found = ended.length
      return ended
    } finally {
      const now = performance.now()
      const restMs = Math.min((now - startedAt) * LOOK_RESTS, LOOK_RESTS_AT_MOST_MS)
      nextAt.set(lacking, found > 0 ? 0 : now + restMs)
    }
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
