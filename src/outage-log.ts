/** Outages of Postgres and Redis in the log: one error when one begins, in the server's own words, one line at its end. */
import type { Logger } from 'pino'

interface OutageLog {
  readonly away: boolean
  /** Notes that `source` (a connection, say) failed. Lines below `error` that are about this error are left out. */
  failed(source: string, error: Error): void
  /** Notes that `source` works; when all do, the outage is over. */
  recovered(source: string): void
}

/** The first errors often say less than what follows, and one lost connection is no outage. */
export const TOLD_AFTER_MS = 1000

/** A busy pool loses one after the other: one line in a while says as much. */
const LOST_TOLD_EVERY_MS = 10_000

/** Of a connection that was lost, whatever the reason was. */
const SAYS_LITTLE = /^(|Connection is closed\.?|Connection terminated.*|read ECONNRESET|Command timed out|write EPIPE)$/

const TOLD = new WeakSet<Error>()

/** Whether this error, or one that caused it, belongs to an outage that has its own line. */
export function isOfOutage(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) if (TOLD.has(error)) return true
  return false
}

export function outageLog(log: Logger, dependency: 'postgres' | 'redis'): OutageLog {
  const failing = new Set<string>()
  let reason = ''
  let since = 0
  let timer: NodeJS.Timeout | undefined
  let told = false
  let lostToldAt = Number.NEGATIVE_INFINITY

  const tell = () => {
    clearTimeout(timer)
    told = true
    log.error({ dependency, reason }, `${dependency} is away`)
  }

  return {
    get away() {
      return failing.size > 0
    },
    failed(source, error) {
      TOLD.add(error)
      if (failing.size === 0) {
        since = performance.now()
        told = false
        reason = ''
        timer = setTimeout(tell, TOLD_AFTER_MS).unref()
      }
      failing.add(source)
      const words = wordsOf(error)
      if (SAYS_LITTLE.test(reason) || !SAYS_LITTLE.test(words)) reason = words || reason
    },
    recovered(source) {
      if (!failing.delete(source) || failing.size > 0) return
      clearTimeout(timer)
      const awayMs = Math.round(performance.now() - since)
      if (told) log.info({ dependency, awayMs }, `${dependency} is back`)
      else if (performance.now() - lostToldAt > LOST_TOLD_EVERY_MS) {
        lostToldAt = performance.now()
        log.warn({ dependency, reason, awayMs }, `a connection to ${dependency} was lost`)
      }
    },
  }
}

/** Of several addresses that were tried, each has its own error. */
const wordsOf = (error: Error): string =>
  error instanceof AggregateError ? error.errors.map((one) => (one as Error).message).join('; ') : error.message
