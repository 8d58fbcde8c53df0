import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { z } from 'zod'
import { describeThisProcess, isAlive } from './processes.js'
import { writePrivately } from './state-directory.js'

const noteSchema = z.object({
  /** See processes.ts. */
  process: z.string(),
  /** What was asked for; see fingerprintOf. */
  fingerprint: z.string(),
  /** From here on once it is ready. */
  url: z.string().optional(),
  databaseUrl: z.string().optional(),
})

type Note = z.output<typeof noteSchema>

/** A stack of this directory that `npm start` keeps running, or that was killed. */
export interface RunningStack extends Omit<Note, 'process'> {
  readonly pid: number
  readonly alive: boolean
}

export async function findRunningStack(file: string): Promise<RunningStack | undefined> {
  let note: Note
  try {
    note = noteSchema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return undefined // none, or not one that we could use
  }
  const { process: description, ...rest } = note
  return { ...rest, pid: Number.parseInt(description, 10), alive: await isAlive(description) }
}

export async function noteRunningStack(file: string, note: Omit<Note, 'process'>): Promise<void> {
  await writePrivately(file, `${JSON.stringify({ process: await describeThisProcess(), ...note })}\n`)
}

export const forgetRunningStack = (file: string): Promise<void> => rm(file, { force: true })

const MATTERS = ['DATABASE_URL', 'REDIS_URL', 'STORAGE_URL', 'CDN_BASE_URL', 'BASE_URL', 'INFERENCE_URL']

/** The same for two starts that would make the same pictures in the same places. A hash: there may be passwords in it. */
export const fingerprintOf = (env: NodeJS.ProcessEnv): string =>
  createHash('sha256')
    .update(JSON.stringify(MATTERS.map((name) => env[name] || null)))
    .digest('hex')
