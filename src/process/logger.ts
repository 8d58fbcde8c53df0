/** The log of a process, and the outages of Postgres and Redis in it. */
import { type DestinationStream, type Logger, pino } from 'pino'
import { causesOf, messageOf, reasonOf } from '../lib/causes.js'

/** Pino's number. */
const ERROR = 50

/** Bytes of lines that wait for a reader of stderr; beyond this, new lines are dropped. */
const LONGEST_BACKLOG = 16 * 1024 * 1024

const stderr = pino.destination({ dest: 2, maxLength: LONGEST_BACKLOG })
stderr.on('error', () => {}) // A full disk or a closed terminal must not end the process.
const flush = stderr.flushSync.bind(stderr)
// Runs at exit, where an error of a reader that has gone would hide the exit code. (sonic-boom 4 retried it for ever.)
stderr.flushSync = () => {
  try {
    flush()
  } catch {}
}

/**
 * One logger per process: JSON lines on stderr. Bodies are never logged; keys and prompts are redacted.
 * @param facts of each line, such as its trace
 * @param to another one is for tests
 */
export function createLogger(
  level: string,
  process: string,
  facts?: () => object,
  to: DestinationStream = stderr,
): Logger {
  return pino(
    {
      level,
      base: { process },
      redact: {
        paths: ['authorization', 'headers', 'prompt', 'negativePrompt'].flatMap((name) => [name, `*.${name}`]),
        censor: '[redacted]',
      },
      ...(facts && { mixin: facts }),
      serializers: { err: describeError },
      hooks: {
        // Each of the many errors of an outage would repeat what the outage's own line has said.
        logMethod(args, method, level) {
          const [facts] = args as unknown as [{ err?: unknown } | undefined]
          if (level >= ERROR || !isOfOutage(facts?.err)) method.apply(this, args)
        },
      },
    },
    to,
  )
}

// Messages and stacks of Drizzle's errors hold the query's parameters, prompts among them; their causes tell why.
function describeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown
  // The last one of the causes; where a name has several addresses, that is the list of what each of them said.
  const found = causesOf(thrown).find((it) => it.thrown instanceof Error && !(it.thrown.cause instanceof Error))
  const innermost = (found?.thrown ?? thrown) as Error & { code?: unknown; constraint?: unknown; kind?: unknown }
  const { name: type, stack, code, constraint, kind } = innermost
  const message = wordsOf(innermost)
  const isQueryError = thrown.message.startsWith('Failed query:')
  const outer = innermost === thrown || isQueryError ? undefined : thrown.message
  return { type, message, stack, code, constraint, kind, outer }
}

/** Later errors often say more than the first, and one lost connection is no outage. */
export const TOLD_AFTER_MS = 1000

/** A busy pool loses one connection after the other: one line in ten seconds is enough. */
const LOST_TOLD_EVERY_MS = 10_000

/** Says that a connection was lost, and not why. */
const SAYS_LITTLE =
  /^(|no reason was given|Connection is closed\.?|Connection terminated.*|read ECONNRESET|Command timed out|write EPIPE)$/

const TOLD = new WeakSet<Error>()

/** Whether this error, or one that caused it, belongs to an outage that has its own line. */
const isOfOutage = (thrown: unknown): boolean =>
  thrown instanceof Error && causesOf(thrown).some((it) => TOLD.has(it.thrown as Error))

/** Logs one error when an outage begins, in the server's own words, and one line at its end. */
export function outageLog(log: Logger, dependency: 'postgres' | 'redis' | 'read replica') {
  const failing = new Set<string>()
  let reason = ''
  let since = 0
  let timer: NodeJS.Timeout | undefined
  let told = false
  let lostToldAt = Number.NEGATIVE_INFINITY

  return {
    isAway: (): boolean => failing.size > 0,
    /** Notes that `source` (a connection, say) failed. Lines below `error` that are about this error are left out. */
    failed(source: string, error: Error): void {
      TOLD.add(error)
      if (failing.size === 0) {
        since = performance.now()
        told = false
        reason = ''
        timer = setTimeout(() => {
          told = true
          log.error({ dependency, reason }, `${dependency} is away`)
        }, TOLD_AFTER_MS).unref()
      }
      failing.add(source)
      const words = wordsOf(error)
      if (SAYS_LITTLE.test(reason) || !SAYS_LITTLE.test(words)) reason = words || reason
    },
    /** Notes that `source` works; when all do, the outage is over. */
    recovered(source: string): void {
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
const wordsOf = (error: Error): string => (error instanceof AggregateError ? reasonOf(error) : messageOf(error))
