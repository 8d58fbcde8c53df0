/** How each process starts and ends: configuration errors in one line, signals to an orderly end, a hard stop behind it. */
import { format } from 'node:util'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { withCommand } from './command-name.js'
import { type Config, ConfigError, parseConfig } from './config.js'
import { watchEventLoop } from './event-loop-watch.js'
import { createLogger } from './logger.js'

export interface Running {
  /** Ends what runs in order; called once. `crashed`: after an error that nobody caught. */
  stop(crashed?: boolean): Promise<void>
}

/** Of tests; see failpoint.ts. */
const FAULT_VARIABLES = ['FAILPOINTS', 'GUARDS_OFF']

/**
 * Runs one process until a signal ends it. Exits non-zero with one readable line when it can't be started.
 * @param hardStopMs how long the orderly end may take before the process is ended anyway
 */
export async function runProcess(
  name: string,
  hardStopMs: number,
  start: (config: Config, log: Logger) => Promise<Running>,
): Promise<void> {
  let log: Logger | undefined
  try {
    const config = parseConfig(process.env)
    log = createLogger(config.logLevel, name)
    logConsole(log)
    for (const variable of FAULT_VARIABLES)
      if (process.env[variable])
        log.warn(`${variable} is set: this process breaks on purpose; unset it outside of tests`)
    const running = await start(config, log)
    watchEventLoop(log)
    closeWithGrace({ delay: hardStopMs, logger: false }, async ({ err, signal }) => {
      if (err) log?.fatal({ err }, 'uncaught error, stopping')
      else log?.info({ signal }, 'stopping')
      await running.stop(err !== undefined)
      log?.info('stopped')
    })
  } catch (error) {
    process.stderr.write(`error: ${withCommand(sentenceOf(error))}\n`)
    process.exit(1)
  }
}

/** Makes what libraries print on the console lines of the log. */
function logConsole(log: Logger): void {
  for (const name of ['log', 'info', 'warn', 'error'] as const)
    console[name] = (...printed: unknown[]) => log.warn({ printed: format(...printed) }, 'a library printed')
}

function sentenceOf(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  const { code, port } = error as { code?: string; port?: number }
  if (code === 'EADDRINUSE') return `port ${port} is already in use; set PORT to a free one`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `HOST is no address of this machine (${code}); set it to 127.0.0.1, or 0.0.0.0 for all`
  }
  if (code === 'EACCES' && port) return `port ${port} may not be used by this user; set PORT to one above 1023`
  return error instanceof Error ? error.message : String(error)
}
