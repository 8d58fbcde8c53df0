/** Programs that the tests need and npm does not bring. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

export function findProgram(name: string): string | undefined {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    try {
      accessSync(join(directory, name), constants.X_OK)
      return join(directory, name)
    } catch {}
  }
  return undefined
}

let updated: Promise<boolean> | undefined

/** Installs Debian packages with apt, as root or where sudo asks nothing. Resolves to whether they are there. */
export async function install(...packages: readonly string[]): Promise<boolean> {
  const root = process.getuid?.() === 0
  if (!findProgram('apt-get') || !(root || (await succeeds('sudo', ['-n', 'true'])))) return false
  const apt = (...args: readonly string[]) => {
    const command = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', '-y', '-o', 'DPkg::Lock::Timeout=60', ...args]
    return root ? succeeds('env', command) : succeeds('sudo', ['-n', 'env', ...command])
  }
  const now = () => apt('install', '--no-install-recommends', ...packages)
  if (!updated) console.log(`Installing ${packages.join(', ')} with apt, for the tests.`)
  if (await now()) return true
  updated ??= apt('update') // a fresh image has no lists
  await updated
  return now()
}

const succeeds = (program: string, args: string[]): Promise<boolean> =>
  promisify(execFile)(program, args, { maxBuffer: 2 ** 26, timeout: 300_000 }).then(
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

/** @param names of the program, the best first */
async function findOrInstall(
  names: readonly [string, ...string[]],
  packages: readonly string[],
  { given, skipped }: { readonly given?: string | undefined; readonly skipped: string },
): Promise<string | undefined> {
  const find = () => given ?? names.map(findProgram).find((path) => path !== undefined)
  if (!find()) await install(...packages)
  const found = find()
  if (found) return found
  const missing = `No ${names.join(' or ')} on the PATH, and none could be installed`
  if (process.env.CI === 'true') throw new Error(`${missing}: with CI=true the tests need one.`)
  console.log(`${missing}: ${skipped}`)
  return undefined
}
