import { type Logger, pino } from 'pino'
import sonicBoom from 'sonic-boom'
import { isOfOutage } from './outage-log.js'

/** Pino's number. */
const ERROR = 50

/** Bytes of lines that wait for a reader of stderr; beyond this, new lines are dropped. */
const LONGEST_BACKLOG = 16 * 1024 * 1024

const stderr = new sonicBoom.SonicBoom({ fd: 2, maxLength: LONGEST_BACKLOG })
stderr.on('error', () => {}) // Its reader is gone: there is nobody to tell.
process.on('exit', () => {
  try {
    stderr.flushSync()
  } catch {}
})

/**
 * One logger per process, JSON lines on stderr. Keys and prompts never get in: nothing logs a body, and what might
 * carry one is redacted or reduced here.
 */
export function createLogger(level: string, process: string): Logger {
  return pino(
    {
      level,
      base: { process },
      redact: {
        paths: [
          'authorization',
          '*.authorization',
          'headers',
          '*.headers',
          'prompt',
          '*.prompt',
          'negativePrompt',
          '*.negativePrompt',
        ],
        censor: '[redacted]',
      },
      serializers: { err: describeError },
      hooks: {
        // Each of the many errors of an outage would repeat what outage-log.ts has said.
        logMethod(args, method, level) {
          const [facts] = args as unknown as [{ err?: unknown } | undefined]
          if (level >= ERROR || !isOfOutage(facts?.err)) method.apply(this, args)
        },
      },
    },
    stderr,
  )
}

// Messages and stacks of Drizzle's errors hold the query's parameters, prompts among them; their causes say what went wrong.
function describeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown
  const innermost = causeOf(thrown)
  const { code, constraint, kind } = innermost as { code?: unknown; constraint?: unknown; kind?: unknown }
  return {
    type: innermost.name,
    message: innermost.message,
    stack: innermost.stack,
    ...(code !== undefined && { code }),
    ...(constraint !== undefined && { constraint }),
    ...(kind !== undefined && { kind }),
    ...(innermost !== thrown && !isQueryError(thrown) && { outer: thrown.message }),
  }
}

const isQueryError = (error: Error) => error.message.startsWith('Failed query:')

function causeOf(error: Error): Error {
  let innermost = error
  while (innermost.cause instanceof Error) innermost = innermost.cause
  return innermost
}
