import type { Log } from '../../log.js'
import type { LeaderLease, ReconcilePorts } from './ports.js'
import { type Pass, RULES } from './rules.js'
import { removeInBackground } from './sweep-images.js'

/** Called with a rule that failed; the next pass retries it. */
type OnFault = (rule: string, error: unknown) => void

const logFault =
  (log: Log): OnFault =>
  (rule, err) =>
    log.warn({ err, rule }, 'a rule of the reconciler failed')

/**
 * Repairs what a crash left behind: Postgres is the truth, queue and locks follow it. A failed rule stops no other.
 * @returns whether Redis is known to follow Postgres; true if this pass did not check
 */
export async function reconcile(ports: ReconcilePorts, pass: Pass, onFault = logFault(ports.log)): Promise<boolean> {
  const failed = new Set<string>()
  for (const { name, when, run } of RULES) {
    if (when && !(await when(pass, ports, failed))) continue
    try {
      if ((await run(ports)) === false) failed.add(name)
    } catch (error) {
      failed.add(name)
      onFault(`reconcile.${name}`, error)
    }
  }
  return !failed.has('restore')
}

export type ReconcilerPorts = ReconcilePorts & { readonly leaderLease: LeaderLease }

const EVERY_MS = 500
/** If the leader's lease is renewed this late, Postgres or this process stood still, and other leases may have expired. */
const STALLED_MS = 4000
/** Workers then get this long to renew their leases or to requeue their generations. */
const GRACE_MS = 5000
const FULL_EVERY_MS = 60_000
/** The next full pass, after one that could not restore Redis. */
const FULL_AGAIN_MS = 5000
/** Well within the leader's lease. */
const RENEW_MS = 700
/** A longer pass hangs, and is no longer renewed: another process takes over. */
const RENEWED_FOR_MS = 120_000
/** A rule that keeps failing is logged at most this often. */
const LOG_EVERY_MS = 10_000

/** Starts the reconciler. It runs in every process; the leader's lease lets one at a time work. */
export function startReconciler(ports: ReconcilerPorts): { stop(): Promise<void> } {
  const images = removeInBackground(ports.images)
  const onFault = rateLimited(logFault(ports.log))
  let stopped = false
  let fullAt = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let renewedAt = performance.now()
  let graceUntil = 0

  const hold = async () => {
    const isLeader = await ports.leaderLease.hold()
    const now = performance.now()
    if (now - renewedAt > STALLED_MS) graceUntil = now + GRACE_MS
    renewedAt = now
    return isLeader
  }

  const pass = async () => {
    try {
      if (await hold()) {
        const now = performance.now()
        const full = now >= fullAt
        const endRenewal = renewing(hold)
        const trustLeases = now >= graceUntil
        const restored = await reconcile({ ...ports, images }, { full, trustLeases }, onFault).finally(endRenewal)
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
      await ports.leaderLease.release().catch(() => undefined)
    },
  }
}

/** Renews the leader's lease during a pass: another holder would begin with a full pass. */
function renewing(hold: LeaderLease['hold']): () => Promise<void> {
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

function rateLimited(log: OnFault): OnFault {
  const loggedAt = new Map<string, number>()
  return (rule, error) => {
    const now = performance.now()
    if (now - (loggedAt.get(rule) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return
    loggedAt.set(rule, now)
    log(rule, error)
  }
}
