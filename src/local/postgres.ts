import { randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { access, lchown, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { reasonOf } from '../lib/causes.js'
import { ForeignDirectory, requireOwn } from '../lib/own-directory.js'
import { type PostgresBinaries, prepareBinaries, runAs } from './postgres-binaries.js'
import { openPostgresHome, type PostgresHome } from './postgres-home.js'
import { endServer, findReadyServer, findServer, lastLines, launchServer, type Settings } from './postgres-server.js'
import { errorCode, registerUse, withLock } from './processes.js'

export interface LocalPostgresOptions {
  /** A directory for the supervisor alone; made when missing. Deleting it (server stopped) starts over. */
  readonly dataDir: string
  /** They count when this call starts the server, not when it finds one. */
  readonly settings?: Settings
  /** Made when missing; `easel` unless given. */
  readonly database?: string
}

export type LocalPostgres = Awaited<ReturnType<typeof startLocalPostgres>>

/** The one database user, and owner of everything. */
const ROLE = 'easel'

/**
 * Starts the Postgres that npm installed, or finds it running, on 127.0.0.1 with a password of its own. It runs in a
 * session of its own: neither Ctrl-C nor the death of this process reaches it.
 * @throws Error with one sentence that says why it can't be, and the end of server.log where that helps
 */
export async function startLocalPostgres(options: LocalPostgresOptions) {
  const { database = 'easel' } = options
  const dataDir = await prepareDirectory(options.dataDir)
  const exclusively = <T>(work: () => Promise<T>) => withLock(join(dataDir, 'lock'), work)
  return exclusively(async () => {
    const home = await openPostgresHome(dataDir)
    const { directory, data, user, password } = home
    const binaries = await prepareBinaries(directory, user)
    const found = await findReadyServer(data)
    const settings: Settings = { shared_buffers: '64MB', ...options.settings }
    if (!found) await ensureCluster(binaries, home, settings.fsync !== 'off')
    const server = found ?? (await launchServer(data, binaries, join(dataDir, 'server.log'), settings))
    try {
      const urlOf = (name: string) => `postgres://${ROLE}:${password}@127.0.0.1:${server.port}/${name}`
      const adminUrl = urlOf('postgres')
      await ensureDatabase(adminUrl, database, dataDir)
      const endUse = await registerUse(join(dataDir, 'users'))
      const stopOnce = async () => {
        if (!existsSync(dataDir)) return endServer(server, data, ['SIGQUIT']) // deleted while it ran
        await exclusively(async () => {
          if (await endUse()) await endServer((await findServer(data)) ?? server, data)
        })
      }
      let stopping: Promise<void> | undefined
      return {
        url: urlOf(database),
        /** The maintenance database of the same server and role, for `create database`. */
        adminUrl,
        port: server.port,
        /** The server's process, for a last resort in an exit handler (SIGQUIT stops it immediately). */
        pid: server.pid,
        /** Whether the server ran already: left by a killed process, or in use by a live one. */
        reused: found !== undefined,
        /** Stops the server and returns when it is gone, unless another live process still uses it. Can be repeated. */
        stop: () => (stopping ??= stopOnce()),
      }
    } catch (error) {
      if (!found) await endServer(server, data)
      throw error
    }
  })
}

async function prepareDirectory(path: string): Promise<string> {
  try {
    await mkdir(path, { recursive: true, mode: 0o755 })
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    await requireOwn(path, { writers: 0o002 }) // an older one has the mode of the umask
    return await realpath(path) // the server's command line, by which it is found again, has no links in it
  } catch (error) {
    if (error instanceof ForeignDirectory) throw error
    throw new Error(
      `${path}, where the database goes, can't be made or written (${errorCode(error)}): make it writable for you, or delete it if it is another user's.`,
      { cause: error },
    )
  }
}

const BUILTIN_LOCALE = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/** Makes the data directory if it isn't there. It gets its name when complete: an interrupted one is no database. */
async function ensureCluster(binaries: PostgresBinaries, home: PostgresHome, durable: boolean): Promise<void> {
  const { directory, data, user } = home
  for (const left of await readdir(directory)) {
    if (left.startsWith('data.new-')) await rm(join(directory, left), { recursive: true, maxRetries: 5 })
  }
  if (existsSync(data)) return requireUsable(home, binaries)
  // Another name each time: the initdb of a killed start may still be at work.
  const unfinished = join(directory, `data.new-${randomUUID()}`)
  const passwordFile = `${unfinished}.pw`
  await mkdir(unfinished, { mode: 0o700 })
  await writeFile(passwordFile, home.password, { mode: 0o600, flag: 'wx' })
  try {
    if (user) for (const path of [unfinished, passwordFile]) await lchown(path, user.uid, user.gid)
    const { code, output } = await runAs(user, binaries.initdb, [
      ...['-D', unfinished, '-U', ROLE, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8'],
      // Postgres's own Unicode locale: the same on every platform, whatever the system has. Older ones have none.
      ...(Number(binaries.major) < 17 ? ['--locale=C.UTF-8'] : BUILTIN_LOCALE),
      ...(durable ? [] : ['--no-sync']),
    ])
    if (code !== 0) throw new Error(`initdb couldn't make a database in ${directory}: ${lastLines(output)}`)
    await rename(unfinished, data)
  } finally {
    await rm(passwordFile, { force: true })
    await rm(unfinished, { recursive: true, force: true })
  }
}

async function requireUsable({ data, user }: PostgresHome, binaries: PostgresBinaries): Promise<void> {
  const { uid } = await stat(data)
  if (uid !== (user?.uid ?? process.getuid?.()))
    throw new Error(
      `The database in ${data} belongs to the user with uid ${uid}: start as that user, or move it away to start with an empty one.`,
    )
  const major = (await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => '')).trim()
  if (major !== binaries.major)
    throw new Error(
      major
        ? `The database in ${data} was made by Postgres ${major}, and this version of Easel brings Postgres ${binaries.major}, which can't read it: go back to the version before, or move ${data} away to start with an empty one.`
        : `${data} is not a Postgres data directory: move it away to start with an empty database.`,
    )
}

async function ensureDatabase(adminUrl: string, database: string, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl, connectionTimeoutMillis: 10_000 })
  try {
    await client.connect()
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
    if (!rowCount) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`)
  } catch (error) {
    const wrongPassword = error instanceof pg.DatabaseError && error.code === '28P01'
    throw new Error(
      wrongPassword
        ? `The database in ${dataDir} doesn't accept the password in its state.json: restore that file, or stop the server and delete ${dataDir} to start with an empty one.`
        : `Postgres runs but can't be used (${reasonOf(error)}): see ${join(dataDir, 'server.log')}.`,
      { cause: error },
    )
  } finally {
    await client.end().catch(() => undefined)
  }
}
