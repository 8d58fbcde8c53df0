/** Programs that the tests need and npm does not bring. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

export const findProgram = (name: string): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find(isProgram)

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** As root, or where sudo asks nothing. Undefined where there is no apt, or no right to use it. */
async function aptGet(): Promise<((...args: readonly string[]) => Promise<boolean>) | undefined> {
  const root = process.getuid?.() === 0
  if (!findProgram('apt-get') || !(root || (await succeeds('sudo', ['-n', 'true'])))) return undefined
  return (...args) => {
    const command = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', '-y', '-o', 'DPkg::Lock::Timeout=60', ...args]
    return root ? succeeds('env', command) : succeeds('sudo', ['-n', 'env', ...command])
  }
}

let updated: Promise<boolean> | undefined

/** A fresh image has no lists. */
const updateLists = (): Promise<boolean> => (updated ??= aptGet().then((apt) => apt?.('update') ?? false))

/** Installs Debian packages with apt. Resolves to whether they are there. */
export async function install(...packages: readonly string[]): Promise<boolean> {
  const apt = await aptGet()
  if (!apt) return false
  const now = () => apt('install', '--no-install-recommends', ...packages)
  if (!updated) console.log(`Installing ${packages.join(', ')} with apt, for the tests.`)
  if (await now()) return true
  await updateLists()
  return now()
}

const succeeds = (program: string, args: string[], cwd?: string): Promise<boolean> =>
  promisify(execFile)(program, args, { cwd, maxBuffer: 2 ** 26, timeout: 300_000 }).then(
    () => true,
    () => false,
  )

/**
 * Debian's Chromium without its windows, which takes half the time, with fonts that have the letters of the pages; else
 * the whole one. Undefined, after one line, where there is none.
 */
export const findChromium = () =>
  findOrInstall(['chromium-headless-shell', 'chromium'], ['chromium-headless-shell', 'fonts-dejavu-core'], {
    given: process.env.CHROMIUM,
    skipped: "the tests in a browser are skipped. Install Debian's chromium, or set CHROMIUM to its path.",
  })

/** With promtool beside it. Undefined, after one line, where there is none. */
export const findPrometheus = () =>
  findOrInstall(['prometheus'], ['prometheus'], {
    skipped: 'the tests of alerts and dashboards are skipped. Install it to run them.',
  })

/** Undefined, after one line, where there is none. */
export const findShellcheck = () =>
  findOrInstall(['shellcheck'], ['shellcheck'], { skipped: 'scripts are not checked. Install it to check them.' })

/**
 * Caddy from the PATH, or else Debian's, unpacked into `directory`: installing it would start a server. Undefined, after
 * one line, where there is none.
 */
export async function findCaddy(directory: string): Promise<string | undefined> {
  const unpacked = join(directory, 'usr/bin/caddy')
  const unpack = () => succeeds('sh', ['-c', 'apt-get -q download caddy && dpkg-deb -x caddy_*.deb .'], directory)
  const find = () => findProgram('caddy') ?? [unpacked].find(isProgram)
  const get = async () => (await unpack()) || ((await updateLists()) && (await unpack()))
  return findOrGet('caddy', find, get, 'the Caddyfile is not checked. Install it to check it.')
}

/** @param names of the program, the best first */
function findOrInstall(
  names: readonly [string, ...string[]],
  packages: readonly string[],
  { given, skipped }: { readonly given?: string | undefined; readonly skipped: string },
): Promise<string | undefined> {
  const find = () => given ?? names.map(findProgram).find((path) => path !== undefined)
  return findOrGet(names.join(' or '), find, () => install(...packages), skipped)
}

async function findOrGet(
  name: string,
  find: () => string | undefined,
  get: () => Promise<unknown>,
  skipped: string,
): Promise<string | undefined> {
  if (!find()) await get()
  const found = find()
  if (found) return found
  const missing = `No ${name} on the PATH, and none could be installed`
  if (process.env.CI === 'true') throw new Error(`${missing}: with CI=true the tests need one.`)
  console.log(`${missing}: ${skipped}`)
  return undefined
}
