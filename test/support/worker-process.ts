import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Config } from '../../src/process/config.js'
import { storageEnv } from './image-storage.js'
import { compiled } from './services.js'

export interface WorkerProcess {
  readonly pid: number
  kill(signal: NodeJS.Signals): void
  /** Resolves to the exit code, or the signal's name. */
  readonly ended: Promise<number | string>
  /** Everything the process has logged so far. */
  readLog(): string
}

/** A worker as a process of its own, so that it can be killed; resolves once it has started. */
export async function startWorkerProcess(
  config: Pick<Config, 'databaseUrl' | 'redisUrl' | 'storage' | 'baseUrl'> & Partial<Pick<Config, 'databaseListenUrl'>>,
  env: Record<string, string>,
  script?: string,
): Promise<WorkerProcess> {
  const child: ChildProcess = spawn(process.execPath, [script ?? (await compiled('src/worker.ts'))], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: config.databaseUrl,
      DATABASE_LISTEN_URL: config.databaseListenUrl ?? config.databaseUrl,
      ...(config.redisUrl && { REDIS_URL: config.redisUrl }),
      ...storageEnv(config),
      BASE_URL: config.baseUrl,
      ...env,
    },
  })
  const ended = once(child, 'exit').then(([code, signal]) => signal ?? code)
  const lines: string[] = []
  const started = new Promise<void>((resolve) => {
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      lines.push(line)
      if (line.includes('worker started')) resolve()
    })
  })
  await Promise.race([
    started,
    ended.then((how) => {
      throw new Error(`the worker ended with ${how} instead of starting:\n${lines.join('\n')}`)
    }),
  ])
  return { pid: child.pid as number, kill: (signal) => void child.kill(signal), ended, readLog: () => lines.join('\n') }
}
