/** `.easel`, where the one-machine stack keeps its state. */
import { hash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import { ForeignDirectory, requireOwn } from '../lib/own-directory.js'
import { describeThisProcess, errorCode, isAlive } from './processes.js'

/** Each entry is made by the file that uses it. */
export type StateDirectory = Awaited<ReturnType<typeof openStateDirectory>>

/** @throws Error with one sentence when `.easel` can't be made or written, or belongs to another user */
export async function openStateDirectory() {
  const path = resolve('.easel')
  try {
    if (!existsSync(path)) {
      await mkdir(path)
      // Root's Postgres runs as the user "nobody", which must be able to reach its own directory.
      await chmod(path, process.getuid?.() === 0 ? 0o711 : 0o700)
    }
    await requireOwn(path)
    const probe = resolve(path, `.probe-${randomUUID()}`)
    await writeFile(probe, '', { flag: 'wx', mode: 0o600 })
    await rm(probe)
  } catch (cause) {
    if (cause instanceof ForeignDirectory) throw cause
    throw new Error(
      `${path}, where everything is kept, can't be made or written (${errorCode(cause)}): start in a directory of your own with room on its disk.`,
      { cause },
    )
  }
  const at = (name: string) => resolve(path, name)
  return {
    path,
    postgres: at('postgres'),
    logs: at('logs'),
    /** Images that the demo saved for people to find. */
    demoImages: at('demo'),
    demoKey: at('demo-key'),
    /** For the operator's command line. */
    databaseUrl: at('database-url'),
    runningStack: at('stack.json'),
  }
}

/** Writes a file for its owner alone. It is replaced in one step: a crash leaves the old one or the new one. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = `${file}.${randomUUID()}.tmp`
  try {
    await writeFile(unfinished, text, { flag: 'wx', mode: 0o600, flush: true })
    await rename(unfinished, file)
  } catch (cause) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw new Error(`${file} can't be written (${errorCode(cause)}): make room for it and start again.`, { cause })
  }
}

const noteSchema = z.object({
  /** See describeThisProcess. */
  process: z.string(),
  fingerprint: z.string(),
  url: z.string().optional(),
  databaseUrl: z.string().optional(),
})

type Note = z.output<typeof noteSchema>

/** The stack that `npm start` keeps running in this directory, or that was killed; undefined if none was noted. */
export async function findRunningStack({ runningStack }: StateDirectory) {
  try {
    const note = noteSchema.parse(JSON.parse(await readFile(runningStack, 'utf8')))
    const state = { isAlive: await isAlive(note.process), isAlike: note.fingerprint === fingerprint() }
    return { ...note, ...state, pid: Number.parseInt(note.process, 10) }
  } catch {
    return undefined // no usable note
  }
}

/** Notes that this process runs the stack, for other starts from this directory; with its URLs once it is ready. */
export async function noteRunningStack({ runningStack }: StateDirectory, urls: Pick<Note, 'url' | 'databaseUrl'> = {}) {
  const note: Note = { process: await describeThisProcess(), fingerprint: fingerprint(), ...urls }
  await writePrivately(runningStack, `${JSON.stringify(note)}\n`)
}

const FINGERPRINTED = [
  'DATABASE_URL',
  'REDIS_URL',
  'STORAGE_URL',
  'S3_ENDPOINT',
  'CDN_BASE_URL',
  'BASE_URL',
  'INFERENCE_URL',
]

/** The same for two starts that would make the same images in the same places. A hash: there may be passwords in it. */
const fingerprint = (): string => hash('sha256', JSON.stringify(FINGERPRINTED.map((name) => process.env[name] || null)))
