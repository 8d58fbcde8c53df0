import { spawn } from 'node:child_process'
import { open, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { PostgresBinaries } from './postgres-binaries.js'
import { clusterOf, findServer, forgetRecycledPid, lastLines, type RunningServer } from './postgres-cluster.js'
import type { PostgresHome } from './postgres-home.js'
import { LocalPostgresError, runOptions } from './run-as.js'

export const READY_WITHIN_MS = 120_000
/** The workers of a killed server take a moment to notice; until then the next one refuses to start. */
const LEFTOVERS_GONE_WITHIN_MS = 10_000

/**
 * Starts the server of a home and returns once it takes connections; on another port where the wished one is taken.
 * @throws LocalPostgresError with what the server said last
 */
export async function launchServer(
  binaries: PostgresBinaries,
  home: PostgresHome,
  dataDir: string,
  wishedPort: number | undefined,
  settings: Readonly<Record<string, string>>,
): Promise<RunningServer> {
  await forgetRecycledPid(clusterOf(home))
  let port = await freePort(wishedPort)
  for (const deadline = Date.now() + LEFTOVERS_GONE_WITHIN_MS; ; await delay(200)) {
    const outcome = await tryLaunch(binaries, home, join(dataDir, 'server.log'), port, settings)
    if (typeof outcome !== 'string') return outcome
    const passing = /could not bind|could not create any TCP|still in use/.test(outcome)
    if (!passing || Date.now() > deadline)
      throw new LocalPostgresError(
        `Postgres didn't start: ${reasonIn(outcome)}. The end of ${join(dataDir, 'server.log')}:\n${lastLines(outcome)}`,
      )
    port = await freePort(port)
  }
}

/** The server once it is ready, or what it wrote to the log before it ended. */
async function tryLaunch(
  binaries: PostgresBinaries,
  home: PostgresHome,
  logFile: string,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<RunningServer | string> {
  const data = clusterOf(home)
  const isLong = ((await stat(logFile).catch(() => undefined))?.size ?? 0) > 1_000_000
  const log = await open(logFile, isLong ? 'w' : 'a', 0o600)
  const { size: logStart } = await log.stat()
  const all = { ...settings, listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '' }
  // Not through `pg_ctl start`: that builds a shell command from our paths, and inherits our pipes.
  const child = spawn(
    binaries.postgres,
    ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...runOptions(home.user), detached: true, stdio: ['ignore', log.fd, log.fd] },
  )
  let ended: string | undefined
  child.once('error', (error) => (ended = error.message))
  child.once('exit', (code, signal) => (ended = `it ended with ${signal ?? `exit code ${code}`}`))
  child.unref()
  await log.close()
  for (const deadline = Date.now() + READY_WITHIN_MS; ended === undefined; await delay(10)) {
    const server = await findServer(data)
    if (server?.pid === child.pid && server?.phase === 'ready') return server
    if (Date.now() > deadline)
      throw new LocalPostgresError(
        `Postgres isn't ready after ${READY_WITHIN_MS / 1000} s: see ${logFile}, and try again when it is done.`,
      )
  }
  return (await readFile(logFile)).subarray(logStart).toString().trim() || ended
}

const reasonIn = (log: string): string =>
  (/^.*\b(?:FATAL|PANIC):\s*(.+)$/m.exec(log)?.[1] ?? log.split('\n').at(-1) ?? '').replace(/\.$/, '')

/** The wished port if nobody listens on it. Between this answer and its use another may take it. */
function freePort(wished = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => (wished === 0 ? reject(error) : resolve(freePort())))
    probe.listen({ port: wished, host: '127.0.0.1', exclusive: true }, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : wished))
    })
  })
}
