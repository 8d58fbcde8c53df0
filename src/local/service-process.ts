/** The server or the worker as a process of its own, and its log. */
import { fork } from 'node:child_process'
import { constants, createWriteStream, openSync } from 'node:fs'
import { lstat, mkdir, rename } from 'node:fs/promises'
import { extname, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { whenAborted } from '../lib/abort-signals.js'
import { requireOwn } from '../lib/own-directory.js'
import { printable } from '../lib/text.js'
import { errorCode } from './processes.js'

/** A little longer than the services' own limit. */
const STOP_WITHIN_MS = 38_000
const MAX_LOG_BYTES = 10_000_000
/** The same warning is repeated this often at most. */
const REPEAT_MS = 60_000
const WARN = 40
/** Warnings of what is as it should be here; stack.ts itself tells of the preview backend, with what to do about it. */
const EXPECTED = /^(preview:|SMTP_URL is not set)/

const pathFromHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Starts server or worker in its own session, so that Ctrl-C reaches only us and we stop them in order. */
export function launchService(name: 'server' | 'worker', env: NodeJS.ProcessEnv, log: ServiceLog) {
  const child = fork(pathFromHere(`child${extname(import.meta.url)}`), [name], {
    // From a checkout: the working directory, where tsx looks for this file, may be anywhere.
    env: { ...env, TSX_TSCONFIG_PATH: pathFromHere('../../tsconfig.json') },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const output of [child.stdout, child.stderr])
    createInterface({ input: output as Readable }).on('line', log.write)
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
  const ready = Promise.race([
    new Promise<void>((resolve) => child.once('message', () => resolve())),
    ended.then((how) => {
      const reason = log.lastPlainLine()?.replace(/^error: /, '')
      throw new Error(reason ?? `The ${name} ended before it was ready (${how}); its log is ${log.file}.`)
    }),
  ])
  ready.catch(() => undefined) // no unhandled rejection if nothing awaits it
  return {
    /** @throws Error with one sentence when it ends before it serves */
    ready,
    /** Settles when the process is gone, with how it ended. */
    ended,
    /** Stops it in order and returns when it is gone. Kills it when `forced` aborts, or when it takes too long. */
    async stop(forced: AbortSignal): Promise<void> {
      const kill = () => child.kill('SIGKILL')
      child.kill('SIGTERM')
      const late = setTimeout(kill, STOP_WITHIN_MS)
      void whenAborted(forced).then(kill)
      await ended
      clearTimeout(late)
    },
  }
}

type ServiceLog = Awaited<ReturnType<typeof openServiceLog>>

/** Writes a service's output into `<name>.log`, which must be ours alone; warnings and worse go to `onWarning` too. */
export async function openServiceLog(directory: string, name: string, onWarning: (line: string) => void) {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await requireOwn(directory)
  const path = join(directory, `${name}.log`)
  const isLong = ((await lstat(path).catch(() => undefined))?.size ?? 0) > MAX_LOG_BYTES
  if (isLong) await rename(path, `${path}.old`)
  const file = createWriteStream(path, { fd: openLogFile(path) })
  file.on('error', () => undefined) // the services report a full disk themselves
  const warnedAt = new Map<string, number>()
  let lastPlainLine: string | undefined

  return {
    /** As a person at the terminal would type it. */
    file: relative('', path),
    /** The last line that is not a log record: why it couldn't start, or the end of a crash report. */
    lastPlainLine: () => lastPlainLine,
    write(line: string): void {
      if (line.trim() === '') return
      file.write(`${line}\n`)
      const record = parseRecord(line)
      if (!record) lastPlainLine = line.trim()
      if (!record || record.level < WARN || EXPECTED.test(record.msg)) return
      const now = performance.now()
      if (now - (warnedAt.get(record.msg) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return
      warnedAt.set(record.msg, now)
      const cause = record.err?.message?.split('\n')[0]
      onWarning(printable(`${name}: ${record.msg}${cause ? ` (${cause})` : ''}`))
    },
  }
}

/** Follows no link, which could point to any file, and does not block on a pipe. */
function openLogFile(path: string): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants
  try {
    return openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_WRONLY, 0o600)
  } catch (cause) {
    throw new Error(`${path} can't be written (${errorCode(cause)}): delete it and start again.`, { cause })
  }
}

/** Undefined if the line is not our logger's. */
function parseRecord(line: string): { level: number; msg: string; err?: { message?: string } } | undefined {
  try {
    const record = JSON.parse(line)
    return typeof record?.level === 'number' && typeof record.msg === 'string' ? record : undefined
  } catch {
    return undefined
  }
}
