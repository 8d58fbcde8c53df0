/** Whether a process should get work, and why not. */
import { setTimeout as after } from 'node:timers/promises'
import { snapshot } from '../lib/snapshot.js'

export interface ReadyCheck {
  /** Without it the process is of no use. The others only make its service worse, and every other process's, too. */
  readonly vital: boolean
  /** What is wrong, as one sentence; undefined: nothing. */
  readonly problem: () => Promise<string | undefined> | string | undefined
}

export interface Readiness {
  /** False: a vital check fails, or the process is leaving. */
  readonly ready: boolean
  /** What is wrong, by check; undefined where nothing is. */
  readonly problems: Readonly<Record<string, string | undefined>>
}

/** What was looked at is used for this long: however many ask, Postgres and Redis are asked once. */
const CHECKS_FRESH_MS = 1000
/** A health check should not wait for the time-outs of what hangs. */
const WITHIN_MS = 2000

const DRAINING = 'This process is shutting down: it only finishes what it has begun, so give it no new work.'

/** @param isLeaving asked each time: who leaves says so at once */
export function readiness(checks: Readonly<Record<string, ReadyCheck>>, isLeaving: () => boolean) {
  const looks = Object.entries(checks).map(([name, { problem }]) => [name, inTime(name, problem)] as const)
  const checked = snapshot<Readiness['problems']>(
    async () => Object.fromEntries(await Promise.all(looks.map(async ([name, look]) => [name, await look()] as const))),
    { freshMs: CHECKS_FRESH_MS },
  )

  return async (): Promise<Readiness> => {
    // Without waiting for a check: a proxy must know it before the port closes.
    const problems = isLeaving() ? {} : await checked()
    if (isLeaving()) return { ready: false, problems: { ...problems, draining: DRAINING } }
    const isVitalAway = Object.entries(checks).some(([name, { vital }]) => vital && problems[name] !== undefined)
    return { ready: !isVitalAway, problems }
  }
}

export type Ready = ReturnType<typeof readiness>

/** One at a time, also while it hangs. */
function inTime(name: string, problem: ReadyCheck['problem']): () => Promise<string | undefined> {
  let pending: Promise<string | undefined> | undefined
  const late = `The check of ${name} had no answer within ${WITHIN_MS / 1000} s.`
  return () => {
    pending ??= Promise.resolve()
      .then(problem)
      .catch(() => `The check of ${name} failed.`)
      .finally(() => {
        pending = undefined
      })
    return Promise.race([pending, after(WITHIN_MS, late, { ref: false })])
  }
}
