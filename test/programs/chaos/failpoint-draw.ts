import type { Seeded } from '../../support/seeded.js'
import { FAILPOINTS, type Failpoint } from './failpoint.js'

/** Passed by every generation; the others only when something goes wrong, or twice a second at most. */
const BUSY: ReadonlySet<Failpoint> = new Set([
  ...(['submit.after_lock', 'submit.before_insert', 'submit.after_insert', 'submit.after_enqueue'] as const),
  ...(['idempotency.after_reserve', 'create_image.before_wait', 'run.after_claim', 'run.after_infer'] as const),
  ...(['run.before_put', 'run.after_put', 'run.before_succeed', 'run.after_succeed', 'run.after_release'] as const),
])
/** Passed a few times a minute at most, after other faults only: always armed, or ten minutes might not reach them. */
const SCARCE: ReadonlySet<Failpoint> = new Set([
  ...(['create_image.before_cancel', 'cancel.after_end', 'run.before_fail', 'run.after_fail'] as const),
  ...(['idempotency.before_release', 'lease.before_heartbeat', 'reconcile.after_fail'] as const),
])
const BUSY_PROBABILITY = 0.01
const SCARCE_PROBABILITY = 0.5
const OTHER_PROBABILITY = 0.35
/** Beside the scarce ones. */
const AT_ONCE = 8

/** Some failpoints for one start of a process. */
export function drawFailpoints(chance: Seeded): string {
  const left = FAILPOINTS.filter((name) => !SCARCE.has(name))
  const drawn = [...SCARCE]
  for (let i = 0; i < AT_ONCE; i++) drawn.push(...left.splice(chance.below(left.length), 1))
  return drawn.map((name) => `${name}=${actionAt(name, chance)}@${probabilityOf(name)}`).join(',')
}

const probabilityOf = (name: Failpoint): number =>
  BUSY.has(name) ? BUSY_PROBABILITY : SCARCE.has(name) ? SCARCE_PROBABILITY : OTHER_PROBABILITY

/**
 * Errors out of nowhere only where a worker or the reconciler meets them: a request may not turn into an error once it
 * has been charged, and only a person could judge whether it had been.
 */
function actionAt(name: Failpoint, chance: Seeded): string {
  const r = chance.next()
  if (r < 0.55) return 'kill'
  if (r < 0.65) return 'stop'
  if (r < 0.8 && /^(run|lease|reconcile)\./.test(name)) return 'throw'
  return `delay:${chance.below(1500) + 50}`
}
