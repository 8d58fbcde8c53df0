import { FAILPOINTS, type Failpoint } from '../../src/failpoint.js'
import type { Seeded } from './seeded.js'

/** Passed by every generation; the others only when something goes wrong, or once a second at most. */
const BUSY: ReadonlySet<Failpoint> = new Set([
  ...(['submit.after_lock', 'submit.before_insert', 'submit.after_insert', 'submit.after_ring'] as const),
  ...(['idempotency.after_reserve', 'create_image.before_wait', 'run.after_claim', 'run.after_infer'] as const),
  ...(['run.before_put', 'run.after_put', 'run.before_succeed', 'run.after_succeed', 'run.after_release'] as const),
])
const BUSY_PROBABILITY = 0.006
const RARE_PROBABILITY = 0.35
const AT_ONCE = 9

/**
 * Some failpoints for one start of a process. Errors out of nowhere only where a worker or the reconciler meets them:
 * a request may not turn into an error once it has been charged, and only a person could judge whether it had been.
 */
export function drawFailpoints(chance: Seeded): string {
  const left: Failpoint[] = [...FAILPOINTS]
  const entries: string[] = []
  while (entries.length < AT_ONCE && left.length > 0) {
    const [name] = left.splice(chance.below(left.length), 1) as [Failpoint]
    const r = chance.next()
    const mayThrow = /^(run|lease|reconcile)\./.test(name)
    const action =
      r < 0.55 ? 'kill' : r < 0.65 ? 'stop' : r < 0.8 && mayThrow ? 'throw' : `delay:${chance.below(1500) + 50}`
    entries.push(`${name}=${action}@${BUSY.has(name) ? BUSY_PROBABILITY : RARE_PROBABILITY}`)
  }
  return entries.join(',')
}
