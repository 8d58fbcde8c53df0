import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.js'
import { compiled, createTestDatabase, redisAvailable, redisUrl } from './services.js'
import { until } from './until.js'

export interface ServerProcess {
  readonly pid: number
  readonly url: string
  readonly databaseUrl: string
  /** Where it keeps images. */
  readonly storagePath: string
  /** Null while it runs, or when a signal ended it. */
  exitCode(): number | null
  /** Everything the process has logged so far. */
  readLog(): string
  /** Resident memory in MiB; undefined where the system does not tell (no /proc). */
  residentMiB(): Promise<number | undefined>
  /** Ends the process and removes its files. */
  stop(): Promise<void>
}

/**
 * A server as a process of its own, over Redis and the database that `env` names, or one of its own; resolves once it is
 * ready.
 * @param openFiles how many files it may have open; by default as many as this process
 */
export async function startServerProcess(
  env: Readonly<Record<string, string>> = {},
  openFiles?: number,
): Promise<ServerProcess> {
  const [databaseUrl, port, directory] = await Promise.all([
    env.DATABASE_URL ?? createTestDatabase().then(({ url }) => url),
    freePort(),
    mkdtemp(join(tmpdir(), 'easel-server-')),
  ])
  const logFile = join(directory, 'server.log')
  const storagePath = join(directory, 'images')
  const log = openSync(logFile, 'a')
  const script = await compiled('src/server.ts')
  const limit = openFiles === undefined ? '' : `ulimit -n ${openFiles} && `
  const child: ChildProcess = spawn('sh', ['-c', `${limit}exec "$0" "$1"`, process.execPath, script], {
    // To a file: a pipe that nobody empties in time would hold up what is measured.
    stdio: ['ignore', log, log],
    env: {
      PATH: process.env.PATH,
      // Without one the server would warn. It says at its start that nobody answers there.
      SMTP_URL: 'smtp://127.0.0.1:1',
      DATABASE_URL: databaseUrl,
      ...(redisAvailable && { REDIS_URL: await redisUrl() }),
      STORAGE_URL: `file:${storagePath}`,
      PORT: String(port),
      ...env,
    },
  })
  closeSync(log)
  const ended = once(child, 'exit')
  const readLog = () => readFileSync(logFile, 'utf8')
  const url = `http://127.0.0.1:${port}`
  // A test that fails before it stops the server leaves none behind.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = async () => {
    process.off('exit', kill)
    kill()
    await ended
    await rm(directory, { recursive: true, force: true, maxRetries: 20 })
  }
  try {
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`the server ended instead of starting:\n${readLog()}`)
        return (await fetch(`${url}/ready`).catch(() => undefined))?.ok
      },
      'a server that is ready',
      120_000,
    )
  } catch (error) {
    await stop()
    throw error
  }
  return {
    pid: child.pid as number,
    url,
    databaseUrl,
    storagePath,
    exitCode: () => child.exitCode,
    readLog,
    async residentMiB() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
      const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
      return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
    },
    stop,
  }
}
