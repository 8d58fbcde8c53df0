/** How each server and worker process starts and ends. */
import { format } from 'node:util'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { version } from '../core/release.js'
import { messageOf } from '../lib/causes.js'
import type { Metrics } from '../telemetry/metrics/open-metrics.js'
import type { Tracing } from '../telemetry/tracing/open-tracing.js'
import { withCommand } from './command-name.js'
import { type Config, ConfigError, parseConfig } from './config.js'
import { tidyForLibraries } from './environment.js'
import { createLogger } from './logger.js'
import { useProxy } from './proxy.js'

export interface Running {
  /** Ends what runs in order; called once. `crashed`: after an error that nobody caught. */
  stop(crashed?: boolean): Promise<void>
}

/** What looks on; each is loaded only where it is asked for. */
interface Watchers {
  readonly tracing: Tracing | undefined
  readonly metrics: Metrics | undefined
}

/** How the watchers are loaded. An entry says it, because a bundle lies where the entry does. */
export interface LoadWatchers {
  tracing(): Promise<typeof import('../telemetry/tracing/open-tracing.js')>
  metrics(): Promise<typeof import('../telemetry/metrics/open-metrics.js')>
}

/** Runs one process until a signal ends it, in order within `hardStopMs`. If it can't start: one line, exit code 1. */
export async function runProcess(
  name: string,
  hardStopMs: number,
  load: LoadWatchers,
  start: (config: Config, log: Logger, watchers: Watchers) => Promise<Running>,
): Promise<void> {
  let log: Logger | undefined
  try {
    tidyForLibraries(process.env)
    const config = parseConfig(process.env)
    await useProxy(process.env)
    const { tracesUrl } = config
    const { openTracing, traceFacts } = tracesUrl ? await load.tracing() : {}
    log = createLogger(config.logLevel, name, traceFacts)
    const tracing = tracesUrl ? openTracing?.(name, tracesUrl, log) : undefined
    const { openMetrics } = config.metricsPort === undefined ? {} : await load.metrics()
    const metrics = openMetrics?.({ process: name, version: version() })
    logConsole(log)
    const running = await start(config, log, { tracing, metrics })
    watchEventLoop(log)
    closeWithGrace({ delay: hardStopMs, logger: false }, async ({ err, signal }) => {
      if (err) log?.fatal({ err }, 'uncaught error, stopping')
      else log?.info({ signal }, 'stopping')
      await running.stop(err !== undefined)
      await tracing?.stop()
      log?.info('stopped')
    })
  } catch (error) {
    process.stderr.write(`error: ${withCommand(sentenceOf(error))}\n`)
    process.exit(1)
  }
}

/** Turns what libraries print on the console into lines of the log. */
function logConsole(log: Logger): void {
  for (const name of ['log', 'info', 'warn', 'error'] as const)
    console[name] = (...printed: unknown[]) => log.warn({ printed: format(...printed) }, 'a library printed')
}

function sentenceOf(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  const { code, port, hostname } = (error ?? {}) as { code?: string; port?: number; hostname?: string }
  if (code === 'EADDRINUSE') return `port ${port} is already in use; set PORT, or METRICS_PORT, to a free one`
  // Other names than the one to listen at can be unknown, too.
  if (code === 'EADDRNOTAVAIL' || (hostname !== undefined && hostname === process.env.HOST))
    return `HOST is no address of this machine (${code}); set it to 127.0.0.1, or 0.0.0.0 for all`
  if (code === 'EACCES' && port) return `port ${port} may not be used by this user; set PORT to one above 1023`
  return messageOf(error)
}

const LOOK_EVERY_MS = 500
/** Leases are renewed every 2 s and end after 7: a loop that stands still for longer than this endangers them. */
const ALARM_MS = 1000

/** Warns when the event loop stood still (own work, a starved machine): leases may have run out. Returns its end. */
export function watchEventLoop(log: Logger): () => void {
  let due = performance.now() + LOOK_EVERY_MS
  // Not perf_hooks' histogram, which forgets a delay that is read right after it.
  const timer = setInterval(() => {
    const now = performance.now()
    const stoodStillMs = Math.round(now - due)
    due = now + LOOK_EVERY_MS
    if (stoodStillMs >= ALARM_MS) log.warn({ stoodStillMs }, 'the event loop stood still')
  }, LOOK_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}
