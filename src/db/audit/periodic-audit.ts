import type { Log } from '../../core/log.js'
import { timeLimit, whenAborted } from '../../lib/abort-signals.js'
import { leases as l } from '../schema/workers.js'
import { param, type Queryable, statement } from '../statement.js'
import type { auditResults } from './audit-results.js'
import type { Check } from './check.js'

export interface PeriodicAuditPorts {
  readonly turn: ReturnType<typeof auditTurn>
  readonly audit: (signal: AbortSignal) => Promise<readonly Check[]>
  readonly results: Pick<ReturnType<typeof auditResults>, 'keep'>
  readonly log: Log
}

const TIMES = {
  /** By then a restarted service has repaired what it must. */
  firstAfterMs: 120_000,
  /** How often each process tries to take the turn. */
  pollEveryMs: 15_000,
  /** How often all of them together audit. */
  everyMs: 600_000,
  /** The time limit of an audit; shorter than `everyMs`, so that two never overlap. */
  limitMs: 300_000,
}

export type AuditTimes = Readonly<typeof TIMES>

/** Audits the running service periodically, in one process at a time, and logs the counts. */
export function startPeriodicAudit({ turn, audit, results, log }: PeriodicAuditPorts, times: AuditTimes = TIMES) {
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let timer = setTimeout(start, times.firstAfterMs)

  function start() {
    running = auditInTurn().finally(() => {
      if (!stopping.signal.aborted) timer = setTimeout(start, times.pollEveryMs)
    })
  }

  async function auditInTurn(): Promise<void> {
    let taken = false
    try {
      taken = await turn.take(times.everyMs)
      if (!taken) return
      const startedAt = performance.now()
      const checks = await inTime(audit, times.limitMs, stopping.signal)
      const tookMs = Math.round(performance.now() - startedAt)
      report(log, checks, tookMs)
      await results.keep(checks, tookMs)
    } catch (err) {
      if (!stopping.signal.aborted) log.warn({ err }, 'audit failed')
      // So that another process audits instead.
      else if (taken) await turn.giveBack().catch(() => undefined)
    }
  }

  return {
    /** Aborts a running audit. */
    async stop(): Promise<void> {
      stopping.abort(new Error('stopping'))
      clearTimeout(timer)
      await running
    },
  }
}

function report(log: Log, checks: readonly Check[], tookMs: number): void {
  const violated = checks.filter(({ violations }) => violations > 0)
  const sentence = 'audit found violations; run the command "audit" for examples of each'
  if (violated.length > 0) log.error({ violated: countsOf(violated), tookMs }, sentence)
  else log.info({ checks: countsOf(checks), tookMs }, 'audit found nothing wrong')
}

const countsOf = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map(({ name, violations }) => [name, violations]))

/** Rejects at its time limit even if the work ignores the abort, like a read from a file system that hangs. */
async function inTime<T>(work: (signal: AbortSignal) => Promise<T>, limitMs: number, stop: AbortSignal): Promise<T> {
  stop.throwIfAborted()
  const { signal, clear } = timeLimit(stop, limitMs)
  try {
    return await Promise.race([work(signal), whenAborted(signal).then(() => Promise.reject(signal.reason))])
  } finally {
    clear()
  }
}

// Never renewed: the turn of a process that dies expires, and a restart does not audit again immediately.
const TAKE = statement('take_audit_turn')`
  INSERT INTO ${l} (name, holder, until)
  VALUES ('audit', ${param('holder')}, now() + make_interval(secs => ${param('seconds')}))
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE ${l.until} <= now()`
const GIVE_BACK = statement('give_audit_turn_back')`
  DELETE FROM ${l} WHERE ${l.name} = 'audit' AND ${l.holder} = ${param('holder')}`

/** The turn to audit, a lease that one process at a time takes. */
export const auditTurn = (pool: Queryable, holder: string) => ({
  /** Takes the turn for this time; false while any process holds it. */
  take: async (forMs: number): Promise<boolean> => (await TAKE.count(pool, { holder, seconds: forMs / 1000 })) === 1,

  /** Gives it back early, for another process to take. */
  giveBack: (): Promise<void> => GIVE_BACK.run(pool, { holder }),
})
