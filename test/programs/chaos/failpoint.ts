/**
 * What a chaos run may do to a process from within, by the variables that it gives it; chaos-ports.ts says where.
 *
 * FAILPOINTS names places where this process fails, like `submit.after_insert`: entries `name=action@probability`,
 * comma-separated; the actions are
 * - `kill`, `stop`: SIGKILL or SIGSTOP for this process
 * - `throw`: an error out of nowhere
 * - `delay:MS`: a pause
 * Each time one acts, its name goes to the file FAILPOINTS_LOG first, so that a run can show which were reached. With a
 * whole number as FAILPOINTS_SEED the nth passage of each place acts or not by seed, name and n alone, whatever the
 * others do meanwhile; without it, by chance.
 *
 * GUARDS_OFF names guards that are switched off, comma-separated, so that a run can show that its checks notice.
 */
import { hash } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** All failpoints there are; a chaos run that reaches fewer of them has not shown what it claims. */
export const FAILPOINTS = [
  'submit.after_lock',
  'submit.before_insert',
  'submit.after_insert',
  'submit.after_enqueue',
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
  'reconcile.after_enqueue',
  'reconcile.after_mark',
  'reconcile.before_locks',
  'reconcile.before_mark',
] as const

export type Failpoint = (typeof FAILPOINTS)[number]

/** Guards in the code that a chaos run can take away; those in the database it takes away with SQL. */
export const SWITCHABLE_GUARDS = [
  'lock.verify',
  'lock.expiry',
  'reconcile.requeue_lost',
  'reconcile.fail_lost',
  'reconcile.fail_expired',
  'reconcile.fail_unservable',
  'reconcile.settle_periods',
  'reconcile.note_ended',
  'reconcile.enqueue',
  'reconcile.notice_wipe',
  'reconcile.restore_locks',
  'reconcile.clear_locks',
  'reconcile.sweep',
  'reconcile.clean',
] as const

export type SwitchableGuard = (typeof SWITCHABLE_GUARDS)[number]

export type Action = (name: Failpoint) => void | Promise<void>
export type Variables = Readonly<Record<string, string | undefined>>

const ENTRY = /^([a-z_.]+)=(kill|stop|throw|delay:(\d+))@([\d.]+)$/

/** What happens at each place: nothing unless FAILPOINTS names it. Await it: it may pause. */
export function armed({ FAILPOINTS: text, FAILPOINTS_LOG: log, FAILPOINTS_SEED: seed }: Variables): Action {
  if (!text) return () => undefined
  if (seed !== undefined && !/^\d+$/.test(seed))
    throw new Error(`FAILPOINTS_SEED must be a whole number, and is "${seed}"`)
  const points = new Map(text.split(',').map(parse))
  return async (name) => {
    const point = points.get(name)
    if (!point) return
    const drawn = seed === undefined ? Math.random() : shareOf(`${seed}/${name}/${point.passed++}`)
    if (drawn >= point.probability) return
    if (log) appendFileSync(log, `${name}\n`)
    await point.act()
  }
}

/** Whether a guard is off: false unless GUARDS_OFF names it. */
export function switchedOff({ GUARDS_OFF: text }: Variables): (name: SwitchableGuard) => boolean {
  if (!text) return () => false
  const off = new Set(text.split(','))
  const unknown = [...off].find((name) => !(SWITCHABLE_GUARDS as readonly string[]).includes(name))
  if (unknown !== undefined)
    throw new Error(`GUARDS_OFF knows no guard "${unknown}"; there are ${SWITCHABLE_GUARDS.join(', ')}`)
  return (name) => off.has(name)
}

function parse(entry: string) {
  const [, name, action, ms, probability] = ENTRY.exec(entry) ?? []
  if (!name || !(FAILPOINTS as readonly string[]).includes(name))
    throw new Error(`FAILPOINTS has no valid entry "${entry}"; write name=kill|stop|throw|delay:MS@probability`)
  const act = async () => {
    if (action === 'kill') process.kill(process.pid, 'SIGKILL')
    else if (action === 'stop') process.kill(process.pid, 'SIGSTOP')
    else if (action === 'throw') throw new Error('thrown by a failpoint')
    else await delay(Number(ms))
  }
  const point = { probability: Number(probability), passed: 0, act }
  return [name, point] as const
}

/** From 0 to 1, without 1, evenly spread and always the same for the same text. */
const shareOf = (text: string): number => hash('sha256', text, 'buffer').readUInt32BE() / 2 ** 32
