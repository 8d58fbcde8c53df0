import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ServiceLog } from './service-log.js'

export type ServiceName = 'server' | 'worker'

export interface ServiceProcess {
  readonly name: ServiceName
  readonly logFile: string
  /** @throws Error with one sentence when it ends before it serves */
  readonly ready: Promise<void>
  /** Settles when the process is gone, with how it ended. */
  readonly ended: Promise<string>
  /** Lets it come to an orderly end, and returns when it is gone. Killed when `forced`, or when it takes too long. */
  stop(forced: AbortSignal): Promise<void>
}

/** A little longer than the services take themselves before they give up. */
const STOP_WITHIN_MS = 38_000

const UNBUILT = import.meta.url.endsWith('.ts')
const CHILD = fileURLToPath(new URL(UNBUILT ? 'child.ts' : 'child.js', import.meta.url))

/** Starts server or worker in a session of its own: Ctrl-C reaches only us, who know the order to end things in. */
export function launchService(name: ServiceName, env: NodeJS.ProcessEnv, log: ServiceLog): ServiceProcess {
  const child = spawn(process.execPath, [...loader(), CHILD, name], {
    env: {
      ...env,
      ...(UNBUILT && { TSX_TSCONFIG_PATH: fileURLToPath(new URL('../../tsconfig.json', import.meta.url)) }),
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  for (const output of [child.stdout, child.stderr])
    createInterface({ input: output as Readable }).on('line', log.write)
  const lifeline = child.stdio[3] as Duplex
  lifeline.on('error', () => undefined) // it ended first
  let gone = false
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
  }).finally(() => {
    gone = true
  })
  const ready = Promise.race([
    once(lifeline, 'data').then(() => undefined),
    ended.then((how) => {
      const reason = log.lastWords()?.replace(/^error: /, '')
      throw new Error(reason ?? `The ${name} ended before it was ready (${how}); its log is ${log.file}.`)
    }),
  ])
  ready.catch(() => undefined) // whoever waits for it is told

  return {
    name,
    logFile: log.file,
    ready,
    ended,
    async stop(forced) {
      lifeline.end()
      const patience = new AbortController()
      const late = delay(STOP_WITHIN_MS, undefined, { signal: AbortSignal.any([patience.signal, forced]) })
      await Promise.race([ended, late.catch(() => undefined)])
      patience.abort()
      if (!gone) child.kill('SIGKILL')
      await ended
    },
  }
}

/** Resolved here: the working directory may be anywhere. */
const loader = (): string[] => (UNBUILT ? ['--import', import.meta.resolve('tsx')] : [])
