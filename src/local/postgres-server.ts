/** The server process of a data directory, as Postgres's own postmaster.pid shows it. */
import { spawn } from 'node:child_process'
import { open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './listening-port.js'
import { type PostgresBinaries, runOptions } from './postgres-binaries.js'
import { runsWith, sendSignal } from './processes.js'

const READY_WITHIN_MS = 120_000
const ENDED_WITHIN_MS = 30_000
const FAST_THEN_IMMEDIATE: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']
/** A new server refuses to start until the processes of a killed one have ended, which takes a moment. */
const LEFTOVERS_GONE_WITHIN_MS = 10_000
const MAX_LOG_BYTES = 1_000_000

/** Postgres's own, as `-c name=value`. */
export type Settings = Readonly<Record<string, string>>

type RunningServer = Pick<NonNullable<Awaited<ReturnType<typeof findServer>>>, 'pid' | 'port'>

/** The live server of a data directory; not the file of a dead one, even if another process has its pid now. */
export async function findServer(data: string) {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  if (!pid || !(await runsWith(pid, data))) return undefined
  return { pid, port: Number(lines[3]), phase: lines[7]?.trim() || 'starting' }
}

/**
 * The server once it is ready; undefined if there is none. Waits for one that is starting (`isStarting`: about to
 * appear), and for the end of one that is stopping. @throws Error with one sentence when that takes too long
 */
export async function findReadyServer(data: string, isStarting = () => false): Promise<RunningServer | undefined> {
  for (const deadline = Date.now() + READY_WITHIN_MS; ; await delay(10)) {
    const starting = isStarting()
    const server = await findServer(data)
    if (server?.phase === 'ready' || (!server && !starting)) return server
    if (Date.now() > deadline)
      throw new Error(
        `Postgres${server ? ` (process ${server.pid})` : ''} has been ${server?.phase ?? 'starting'} for ${READY_WITHIN_MS / 1000} s: see its server.log, and try again when it is done.`,
      )
  }
}

/**
 * Starts the server of a data directory and returns once it accepts connections: on the last start's port, or on any
 * other if that is taken. @throws Error with what the server said last
 */
export async function launchServer(data: string, binaries: PostgresBinaries, logFile: string, settings: Settings) {
  await removeRecycledPidFile(data)
  const lastOptions = await readFile(join(data, 'postmaster.opts'), 'utf8').catch(() => '')
  let port = Number(/"port=(\d+)"/.exec(lastOptions)?.[1] ?? 0)
  for (const deadline = Date.now() + LEFTOVERS_GONE_WITHIN_MS; ; await delay(200)) {
    port = await freePort('127.0.0.1', port)
    const outcome = await tryLaunch(data, binaries, logFile, { ...settings, port: String(port) })
    if (typeof outcome !== 'string') return outcome
    const isPassing = /could not bind|could not create any TCP|still in use/.test(outcome)
    if (isPassing && Date.now() < deadline) continue
    const reason = /^.*\b(?:FATAL|PANIC):\s*(.+)$/m.exec(outcome)?.[1] ?? outcome.split('\n').at(-1) ?? ''
    throw new Error(
      `Postgres didn't start: ${reason.replace(/\.$/, '')}. The end of ${logFile}:\n${lastLines(outcome)}`,
    )
  }
}

/**
 * Removes a postmaster.pid whose pid another program has now, for which Postgres would refuse to start. Any other file
 * of a dead server stays: by it Postgres finds processes that the server left running.
 */
async function removeRecycledPidFile(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10)
  if (pid && !(await runsWith(pid, data)) && sendSignal(pid, 0)) await rm(file, { force: true })
}

/** The server once it is ready, or what it wrote to the log before it ended. */
async function tryLaunch(data: string, { postgres, user }: PostgresBinaries, logFile: string, settings: Settings) {
  const isLong = ((await stat(logFile).catch(() => undefined))?.size ?? 0) > MAX_LOG_BYTES
  const log = await open(logFile, isLong ? 'w' : 'a', 0o600)
  const { size: logStart } = await log.stat()
  const all = Object.entries({ ...settings, listen_addresses: '127.0.0.1', unix_socket_directories: '' })
  // Not through `pg_ctl start`: that builds a shell command from our paths.
  const child = spawn(postgres, ['-D', data, ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])], {
    ...runOptions(user),
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  let ended: string | undefined
  child.once('error', (error) => (ended = error.message))
  child.once('exit', (code, signal) => (ended = `it ended with ${signal ?? `exit code ${code}`}`))
  child.unref()
  await log.close()
  const server = await findReadyServer(data, () => ended === undefined)
  return server ?? ((await readFile(logFile)).subarray(logStart).toString().trim() || (ended as string))
}

/** Ends a server and returns when it is gone: SIGINT cuts statements off, SIGQUIT also writes nothing to disk. */
export async function endServer({ pid }: RunningServer, data: string, signals = FAST_THEN_IMMEDIATE): Promise<void> {
  for (const signal of signals) {
    sendSignal(pid, signal)
    for (const deadline = Date.now() + ENDED_WITHIN_MS; Date.now() < deadline; await delay(10))
      if (!(await runsWith(pid, data))) return
  }
  throw new Error(`Postgres (process ${pid}) doesn't stop: end that process by hand.`)
}

export const lastLines = (text: string): string => text.trim().split('\n').slice(-8).join('\n')
