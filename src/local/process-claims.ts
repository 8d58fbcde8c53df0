import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describeThisProcess, isAlive } from './processes.js'
import { errorCode, LocalPostgresError } from './run-as.js'

const LOCK_PATIENCE_MS = 180_000

/** Runs `work` while no other process runs work under the same lock file; the lock of a dead process is taken over. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const claim = `${await describeThisProcess()}\n${randomUUID()}\n`
  for (const deadline = Date.now() + LOCK_PATIENCE_MS; !tryCreate(file, claim); await delay(20)) {
    const seen = readIfThere(file)
    if (seen !== undefined && !(await isHeld(file, seen))) breakLock(file, seen)
    if (Date.now() > deadline)
      throw new LocalPostgresError(
        `Process ${seen?.split(' ')[0]} has been starting or stopping the database for minutes: wait for it or stop it; if it doesn't exist, delete ${file}.`,
      )
  }
  try {
    return await work()
  } finally {
    if (readIfThere(file) === claim) rmSync(file, { force: true })
  }
}

function tryCreate(file: string, claim: string): boolean {
  try {
    writeFileSync(file, claim, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

async function isHeld(file: string, claim: string): Promise<boolean> {
  if (claim.endsWith('\n')) return isAlive(claim.split('\n')[0] ?? '')
  return ageMs(file) < 5000 // still being written, or its writer died on it
}

/** Of those who saw the same dead holder exactly one removes the file, and nobody removes the next holder's. */
function breakLock(file: string, seen: string): void {
  const breaking = `${file}.breaking`
  try {
    mkdirSync(breaking)
  } catch {
    if (ageMs(breaking) > 5000) rmSync(breaking, { recursive: true, force: true })
    return
  }
  try {
    if (readIfThere(file) === seen) rmSync(file, { force: true })
  } finally {
    rmdirSync(breaking)
  }
}

/**
 * Notes in `directory` that this process uses the server. The returned function takes the note back and says whether
 * any live process is left.
 */
export async function registerUse(directory: string): Promise<() => Promise<{ othersLeft: boolean }>> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const note = join(directory, randomUUID())
  await writeFile(note, await describeThisProcess(), { mode: 0o600 })
  return async () => {
    await rm(note, { force: true })
    let othersLeft = false
    for (const name of await readdir(directory)) {
      const other = join(directory, name)
      if (await isAlive(await readFile(other, 'utf8').catch(() => ''))) othersLeft = true
      else await rm(other, { force: true })
    }
    return { othersLeft }
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function ageMs(path: string): number {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
}
