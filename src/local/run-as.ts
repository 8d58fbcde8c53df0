import { execFile } from 'node:child_process'

/** Why the stack on this machine can't start, as one sentence that says what to do. */
export class LocalPostgresError extends Error {
  override readonly name = 'LocalPostgresError'
}

/** The user that Postgres runs as when this process is root, which Postgres refuses. */
export interface DatabaseUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Options of a child process run as `user`, or as ourselves. Nothing of our environment (PGPORT, secrets) gets in. */
export const runOptions = (user: DatabaseUser | undefined) => ({
  // The user may not be able to reach our working directory.
  cwd: '/',
  env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', ...(process.env.TZ && { TZ: process.env.TZ }) },
  // spawn wants signed numbers: "nobody" is -2 on macOS.
  ...(user && { uid: user.uid | 0, gid: user.gid | 0 }),
})

/**
 * Runs a program to its end and returns its exit code and what it said.
 * @throws NodeJS.ErrnoException when it can't be run at all (ENOENT, EACCES, EPERM)
 */
export function runAs(user: DatabaseUser | undefined, file: string, args: readonly string[]) {
  return new Promise<{ code: number; output: string }>((resolve, reject) => {
    execFile(file, [...args], runOptions(user), (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number' && !error.signal) reject(error)
      else resolve({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}`.trim() })
    })
  })
}

export const errorCode = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code
