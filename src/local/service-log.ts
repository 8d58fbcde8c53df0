import { createWriteStream } from 'node:fs'
import { mkdir, rename, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'

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
 */
export async function openServiceLog(
  directory: string,
  name: string,
  onTrouble: (line: string) => void,
): Promise<ServiceLog> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${name}.log`)
  const isLong = ((await stat(path).catch(() => undefined))?.size ?? 0) > LONG
  if (isLong) await rename(path, `${path}.old`)
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 })
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
