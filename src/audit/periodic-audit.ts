import { leases as l } from '../db/process-schema.js'
import { param, type Queryable, statement } from '../db/statement.js'
import type { Log } from '../log.js'
import type { Check } from './check.js'

export interface PeriodicAuditPorts {
  readonly turn: AuditTurn
  /** Counts what is wrong; rejects when it could not be looked at. */
  readonly audit: (signal: AbortSignal) => Promise<readonly Check[]>
  readonly log: Log
}

export interface AuditTimes {
  /** What a restart has to mend is mended by then. */
  readonly firstAfterMs: number
  /** How often each process looks whether it is its turn. */
  readonly lookEveryMs: number
  /** How often all of them together audit. */
  readonly everyMs: number
  /** An audit that takes longer is given up; shorter than `everyMs`, so that two never run at once. */
  readonly limitMs: number
}

const TIMES: AuditTimes = { firstAfterMs: 120_000, lookEveryMs: 15_000, everyMs: 600_000, limitMs: 300_000 }

/** Audits the running service once in a while, in one of its processes, and logs what it counts. */
export function startPeriodicAudit(
  { turn, audit, log }: PeriodicAuditPorts,
  times: AuditTimes = TIMES,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let timer = setTimeout(start, times.firstAfterMs)

  function start() {
    running = look().finally(() => {
      if (!stopping.signal.aborted) timer = setTimeout(start, times.lookEveryMs)
    })
  }

  async function look(): Promise<void> {
    let taken = false
    try {
      taken = await turn.take(times.everyMs)
      if (!taken) return
      const startedAt = performance.now()
      const checks = await inTime((signal) => audit(signal), times.limitMs, stopping.signal)
      report(log, checks, Math.round(performance.now() - startedAt))
    } catch (err) {
      if (!stopping.signal.aborted) log.warn({ err }, 'audit could not be finished')
      // Somebody who stays does it.
      else if (taken) await turn.giveBack().catch(() => undefined)
    }
  }

  return {
    /** Gives up what runs. */
    async stop() {
      stopping.abort(new Error('stopping'))
      clearTimeout(timer)
      await running
    },
  }
}

function report(log: Log, checks: readonly Check[], tookMs: number): void {
  const violated = checks.filter(({ violations }) => violations > 0)
  if (violated.length === 0) log.info({ checks: countsOf(checks), tookMs }, 'audit found nothing wrong')
  else
    log.error(
      { violated: countsOf(violated), tookMs },
      'audit found violations; the command "audit" names some of each',
    )
}

const countsOf = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map(({ name, violations }) => [name, violations]))

/** Does not wait for work that heeds no abort, like a read from a file system that hangs. */
async function inTime<T>(
  work: (signal: AbortSignal) => Promise<T>,
  limitMs: number,
  stopping: AbortSignal,
): Promise<T> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new Error(`it took longer than ${limitMs} ms`)), limitMs)
  const stop = () => limit.abort(stopping.reason)
  stopping.addEventListener('abort', stop)
  try {
    stopping.throwIfAborted()
    return await Promise.race([
      work(limit.signal),
      new Promise<never>((_, reject) => {
        limit.signal.addEventListener('abort', () => reject(limit.signal.reason))
      }),
    ])
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', stop)
  }
}

/** One process at a time audits, once in a while. */
interface AuditTurn {
  /** Takes the turn for so long; false while it is taken, by whomever. */
  take(forMs: number): Promise<boolean>
  /** Gives it back before its time, for somebody else to take. */
  giveBack(): Promise<void>
}

// Never renewed: a process that dies just lets its turn run out, and a restart does not audit again at once.
const TAKE = statement('take_audit_turn')`
  INSERT INTO ${l} (name, holder, until)
  VALUES ('audit', ${param('holder')}, now() + make_interval(secs => ${param('seconds')}))
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE ${l.until} <= now()`
const GIVE_BACK = statement('give_audit_turn_back')`
  DELETE FROM ${l} WHERE ${l.name} = 'audit' AND ${l.holder} = ${param('holder')}`

export const auditTurn = (pool: Queryable, holder: string): AuditTurn => ({
  async take(forMs) {
    return (await TAKE.count(pool, { holder, seconds: forMs / 1000 })) === 1
  },

  async giveBack() {
    await GIVE_BACK.count(pool, { holder })
  },
})
