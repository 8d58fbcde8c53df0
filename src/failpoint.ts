/**
 * Named places where a chaos run may make this process fail, like `submit.after_insert`. Without FAILPOINTS they are
 * nothing. FAILPOINTS holds `name=action@probability` entries, comma-separated; the actions are
 * - `kill`, `stop`: SIGKILL or SIGSTOP for this process
 * - `throw`: an error out of nowhere
 * - `delay:MS`: a pause
 * Each time one acts, its name goes to the file FAILPOINTS_LOG first, so that a run can show which were reached.
 */
import { appendFileSync } from 'node:fs'

/** All failpoints there are; a chaos run that reaches fewer of them has not shown what it claims. */
export const FAILPOINTS = [
  'submit.after_lock',
  'submit.before_insert',
  'submit.after_insert',
  'submit.after_ring',
  'idempotency.after_reserve',
  'idempotency.before_release',
  'create_image.before_wait',
  'create_image.before_cancel',
  'cancel.after_end',
  'run.after_claim',
  'run.after_infer',
  'run.before_put',
  'run.after_put',
  'run.before_succeed',
  'run.after_succeed',
  'run.before_fail',
  'run.after_fail',
  'run.before_requeue',
  'run.after_requeue',
  'run.after_release',
  'lease.before_heartbeat',
  'reconcile.after_requeue_lost',
  'reconcile.after_fail',
  'reconcile.after_ring',
  'reconcile.after_mark',
  'reconcile.before_locks',
  'reconcile.before_sentinel',
] as const

export type Failpoint = (typeof FAILPOINTS)[number]

type Action = (name: Failpoint) => void | Promise<void>

/** Does nothing unless FAILPOINTS names it. Await it: it may pause. */
export const failpoint: Action = armed(process.env.FAILPOINTS, process.env.FAILPOINTS_LOG)

function armed(text: string | undefined, log: string | undefined): Action {
  if (!text) return () => undefined
  const points = new Map(text.split(',').map(parse))
  return async (name) => {
    const point = points.get(name)
    if (!point || Math.random() >= point.probability) return
    if (log) appendFileSync(log, `${name}\n`)
    await point.act()
  }
}

function parse(entry: string): [string, { probability: number; act: () => void | Promise<void> }] {
  const [, name, action, probability] = /^([a-z_.]+)=([a-z]+(?::\d+)?)@([\d.]+)$/.exec(entry) ?? []
  if (!name || !action || !(FAILPOINTS as readonly string[]).includes(name)) {
    throw new Error(`FAILPOINTS has no valid entry "${entry}"; write name=kill|stop|throw|delay:MS@probability`)
  }
  return [name, { probability: Number(probability), act: actionOf(action) }]
}

function actionOf(action: string): () => void | Promise<void> {
  if (action === 'kill') return () => void process.kill(process.pid, 'SIGKILL')
  if (action === 'stop') return () => void process.kill(process.pid, 'SIGSTOP')
  if (action === 'throw') {
    return () => {
      throw new Error('thrown by a failpoint')
    }
  }
  const delayMs = Number(/^delay:(\d+)$/.exec(action)?.[1])
  if (Number.isNaN(delayMs)) throw new Error(`FAILPOINTS has no action "${action}"; use kill, stop, throw or delay:MS`)
  return () => new Promise((resolve) => setTimeout(resolve, delayMs))
}
