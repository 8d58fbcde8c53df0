import { randomBytes } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { errorCode, LocalPostgresError } from './run-as.js'

const stateSchema = z.object({
  password: z.string().regex(/^[\w-]{20,}$/),
  /** The port of the last start; taken again while it is free. */
  port: z.number().optional(),
  /** Where the database lies when that is not beside this file. */
  away: z.string().optional(),
})

/** What one start leaves for the next, in a file that only its owner may read. */
export type PostgresState = z.output<typeof stateSchema>

const stateFile = (dataDir: string) => join(dataDir, 'state.json')

export const newPassword = (): string => randomBytes(24).toString('base64url')

/** Undefined before the first start. */
export async function readState(dataDir: string): Promise<PostgresState | undefined> {
  const file = stateFile(dataDir)
  try {
    return stateSchema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new LocalPostgresError(
      errorCode(error) === 'EACCES'
        ? `${dataDir} belongs to another user: start as the one who started the database there before, or delete ${dataDir} to start with an empty one.`
        : `${file}, which holds the password of the database, can't be read: restore it, or delete ${dataDir} to start with an empty one.`,
      { cause: error },
    )
  }
}

/** Replaces the file in one step, so that a crash leaves the old one or the new one. */
export async function writeState(dataDir: string, state: PostgresState): Promise<void> {
  const unfinished = `${stateFile(dataDir)}.new`
  const file = await open(unfinished, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(state)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(unfinished, stateFile(dataDir))
}
