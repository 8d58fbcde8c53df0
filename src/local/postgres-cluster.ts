import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lchown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { PostgresBinaries } from './postgres-binaries.js'
import type { PostgresHome } from './postgres-home.js'
import { runsWith } from './processes.js'
import { LocalPostgresError, runAs } from './run-as.js'

/** The one database user, and owner of everything. */
export const ROLE = 'easel'

/** Where Postgres keeps the databases of a home. */
export const clusterOf = (home: PostgresHome): string => join(home.directory, 'data')

/**
 * Makes the data directory if it isn't there. It gets its name only when complete, so an interrupted one is never
 * mistaken for a database, and a database never for an interrupted one.
 */
export async function ensureCluster(
  binaries: PostgresBinaries,
  home: PostgresHome,
  password: string,
  durable: boolean,
) {
  const data = clusterOf(home)
  for (const left of await readdir(home.directory)) {
    if (left.startsWith('data.new-')) await rm(join(home.directory, left), { recursive: true, maxRetries: 5 })
  }
  if (existsSync(data)) return requireUsable(data, binaries, home)
  const id = randomUUID()
  const [unfinished, passwordFile] = [join(home.directory, `data.new-${id}`), join(home.directory, `data.new-${id}.pw`)]
  await mkdir(unfinished, { mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600, flag: 'wx' })
  try {
    if (home.user) for (const path of [unfinished, passwordFile]) await lchown(path, home.user.uid, home.user.gid)
    const { code, output } = await runAs(home.user, binaries.initdb, [
      ...['-D', unfinished, '-U', ROLE, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8'],
      // Postgres's own Unicode locale: the same on every platform, whatever the system has.
      ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...(durable ? [] : ['--no-sync']),
    ])
    if (code !== 0)
      throw new LocalPostgresError(`initdb couldn't make a database in ${home.directory}: ${lastLines(output)}`)
    await rename(unfinished, data)
  } finally {
    await rm(passwordFile, { force: true })
    await rm(unfinished, { recursive: true, force: true })
  }
}

async function requireUsable(data: string, binaries: PostgresBinaries, home: PostgresHome): Promise<void> {
  const { uid } = await stat(data)
  if (uid !== (home.user?.uid ?? process.getuid?.()))
    throw new LocalPostgresError(
      `The database in ${data} belongs to the user with uid ${uid}: start as that user, or move it away to start with an empty one.`,
    )
  const major = (await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => '')).trim()
  if (major !== binaries.major)
    throw new LocalPostgresError(
      major
        ? `The database in ${data} was made by Postgres ${major}, and this version of Easel brings Postgres ${binaries.major}, which can't read it: go back to the version before, or move ${data} away to start with an empty one.`
        : `${data} is not a Postgres data directory: move it away to start with an empty database.`,
    )
}

/** A server as its postmaster.pid shows it. */
export interface RunningServer {
  readonly pid: number
  readonly port: number
  readonly phase: 'starting' | 'ready' | 'stopping'
}

/** The live server of a data directory. A file left by a dead one is not taken for it, even if its pid lives again. */
export async function findServer(data: string): Promise<RunningServer | undefined> {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  if (!pid || !(await runsWith(pid, data))) return undefined
  const phase = lines[7]?.trim()
  return {
    pid,
    port: Number(lines[3]),
    phase: phase === 'ready' || phase === 'stopping' ? phase : 'starting',
  }
}

/**
 * Postgres itself gets over a postmaster.pid whose process is dead, and must see it then: it leads to what a killed
 * server may have left running. It gives up only where another program has that pid by now.
 */
export async function forgetRecycledPid(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0])
  if (pid && processExists(pid) && !(await runsWith(pid, data))) await rm(file, { force: true })
}

/** Fast shutdown: running statements are cut off, what was committed is safe. Returns when the process is gone. */
export async function stopServer(binaries: PostgresBinaries, home: PostgresHome): Promise<void> {
  const data = clusterOf(home)
  const server = await findServer(data)
  if (!server) return
  for (const mode of ['fast', 'immediate']) {
    await runAs(home.user, binaries.pgCtl, ['stop', '-D', data, '-m', mode, '-w', '-t', '30', '-s'])
    // The file is gone a moment before the process.
    for (let i = 0; i < 100; i++, await delay(10)) if (!(await runsWith(server.pid, data))) return
  }
  throw new LocalPostgresError(`Postgres (process ${server.pid}) doesn't stop: end that process by hand.`)
}

/** For a server whose data directory is given up: ends it without a word to disk. */
export async function killServer(server: RunningServer, data: string): Promise<void> {
  while (await runsWith(server.pid, data)) {
    process.kill(server.pid, 'SIGQUIT')
    await delay(50)
  }
}

export const lastLines = (text: string): string => text.trim().split('\n').slice(-8).join('\n')

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
