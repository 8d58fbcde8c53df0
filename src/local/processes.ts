/** Processes by ID and start time: an ID alone is soon another process's, above all in a container that restarts. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

export const errorCode = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code

/** For a rejection: nothing happens where it has this code. */
export const ignoring = (code: string) => (error: unknown) => {
  if (errorCode(error) !== code) throw error
  return undefined
}

const LOCK_PATIENCE_MS = 180_000

/** Identifies this process uniquely, in characters that a file name may have. */
export const describeThisProcess = async (): Promise<string> => `${process.pid}-${await startTimeOf(process.pid)}`

/** Whether the described process lives. Text after a dot is no part of the description. */
export async function isAlive(description: string): Promise<boolean> {
  const [, pid, startTime] = /^(\d+)-(\w+)/.exec(description) ?? []
  return startTime !== undefined && (await startTimeOf(Number(pid))) === startTime
}

/** Whether a live process has this exact argument in its command line. */
export async function runsWith(pid: number, argument: string): Promise<boolean> {
  if (process.platform !== 'linux') return ` ${await ps(pid, 'command')} `.includes(` ${argument} `)
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return commandLine.split('\0').includes(argument)
}

/** Whether there was a process to send it to; signal 0 only asks. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/**
 * Runs `work` while no other process runs work under the same lock, and takes over the lock of a dead process.
 * Handwritten: Node has no file locks, and Postgres locks its data directory only once there is one.
 */
export async function withLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const claim = `${await describeThisProcess()}.${randomUUID()}`
  for (const deadline = Date.now() + LOCK_PATIENCE_MS; !(await tryLink(claim, lock)); await delay(20)) {
    const holder = await holderOf(lock)
    if (holder !== undefined && !(await isAlive(holder))) {
      // Several processes may have seen the same dead holder: none of them may remove the lock of the next one.
      await withLock(`${lock}.stale`, async () => {
        if ((await holderOf(lock)) === holder) await rm(lock)
      })
    }
    if (Date.now() > deadline)
      throw new Error(
        `Process ${Number.parseInt(holder ?? '', 10)} has been starting or stopping the database for minutes: wait for it or stop it; if it doesn't exist, delete ${lock}.`,
      )
  }
  try {
    return await work()
  } finally {
    if ((await holderOf(lock)) === claim) await rm(lock, { force: true })
  }
}

/** A symbolic link: unlike a file it appears together with its content. */
const tryLink = (claim: string, lock: string) => symlink(claim, lock).then(() => true, ignoring('EEXIST'))

const holderOf = (lock: string): Promise<string | undefined> =>
  readlink(lock).catch((error) => (errorCode(error) === 'ENOENT' ? undefined : ''))

/** Notes in `directory` that this process uses something; the result removes the note and says if it was the last. */
export async function registerUse(directory: string): Promise<() => Promise<boolean>> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const note = join(directory, `${await describeThisProcess()}.${randomUUID()}`)
  await writeFile(note, '', { mode: 0o600 })
  return async () => {
    await rm(note, { force: true })
    let isLast = true
    for (const other of await readdir(directory)) {
      if (await isAlive(other)) isLast = false
      else await rm(join(directory, other), { force: true })
    }
    return isLast
  }
}

/** Undefined for a process that has ended, reaped or not. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return (await ps(pid, 'lstart')).replace(/\W+/g, '_') || undefined
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The second field is the program's name in parentheses, which may hold anything; the state and 18 more come first.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? undefined : fields[19]
}

const ps = (pid: number, column: string): Promise<string> =>
  promisify(execFile)('ps', ['-ww', '-o', `${column}=`, '-p', String(pid)]).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  )
