import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { requireOwn } from '../own-directory.js'
import { errorCode } from './run-as.js'

const LONG = 10_000_000
/** The same trouble is told this often at most. */
const REPEAT_MS = 60_000
const WARN = 40

export interface ServiceLog {
  /** As a person at the terminal would type it. */
  readonly file: string
  write(line: string): void
  /** The last thing it said that was no log line: why it couldn't start, or the end of a crash report. */
  lastWords(): string | undefined
}

/**
 * Takes what a service says: all of it goes into `<name>.log`, a warning or worse to the person at the terminal too,
 * as one line.
 * @throws Error with one sentence when the log is not ours alone, or can't be written
 */
export async function openServiceLog(
  directory: string,
  name: string,
  onTrouble: (line: string) => void,
): Promise<ServiceLog> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await requireOwn(directory)
  const path = join(directory, `${name}.log`)
  const isLong = ((await lstat(path).catch(() => undefined))?.size ?? 0) > LONG
  if (isLong) await rename(path, `${path}.old`)
  const file = (await openFile(path)).createWriteStream()
  file.on('error', () => undefined) // a full disk is told by those who need it more
  const toldAt = new Map<string, number>()
  let lastWords: string | undefined

  return {
    file: relative('', path),
    lastWords: () => lastWords,
    write(line) {
      if (line.trim() === '') return
      file.write(`${line}\n`)
      const record = parseRecord(line)
      if (!record) lastWords = line.trim()
      else if (record.level >= WARN && !record.msg.startsWith('preview:')) {
        // (What the preview warns of is told by real-pictures.ts, with what to do about it.)
        const now = performance.now()
        if (now - (toldAt.get(record.msg) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return
        toldAt.set(record.msg, now)
        onTrouble(`${name}: ${record.msg}${record.err?.message ? ` (${record.err.message.split('\n')[0]})` : ''}`)
      }
    },
  }
}

/** Appends to a file of this very name: a link would lead to any file there is, and a pipe would be waited for. */
async function openFile(path: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants
  try {
    return await open(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_WRONLY, 0o600)
  } catch (cause) {
    throw new Error(`${path} can't be written (${errorCode(cause)}): delete it and start again.`, { cause })
  }
}

interface LogRecord {
  readonly level: number
  readonly msg: string
  readonly err?: { readonly message?: string }
}

function parseRecord(line: string): LogRecord | undefined {
  try {
    const record = JSON.parse(line)
    return typeof record?.level === 'number' && typeof record.msg === 'string' ? record : undefined
  } catch {
    return undefined
  }
}
