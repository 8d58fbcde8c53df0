import { constants, existsSync } from 'node:fs'
import { access, mkdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { ForeignDirectory, requireOwn } from '../own-directory.js'
import { type PostgresBinaries, preparePostgresBinaries } from './postgres-binaries.js'
import {
  clusterOf,
  ensureCluster,
  findServer,
  killServer,
  ROLE,
  type RunningServer,
  stopServer,
} from './postgres-cluster.js'
import { choosePostgresHome, type PostgresHome } from './postgres-home.js'
import { launchServer, READY_WITHIN_MS } from './postgres-launch.js'
import { newPassword, readState, writeState } from './postgres-state.js'
import { registerUse, withLock } from './process-claims.js'
import { errorCode, LocalPostgresError } from './run-as.js'

export interface LocalPostgresOptions {
  /** A directory for the supervisor alone; made when missing. Deleting it (server stopped) starts over. */
  readonly dataDir: string
  /** Taken if free, else the last start's, else any free one. */
  readonly port?: number
  /** Server settings (`-c name=value`); they count when this call starts the server, not when it finds one. */
  readonly settings?: Readonly<Record<string, string>>
  /** Made when missing; `easel` unless given. */
  readonly database?: string
}

export interface LocalPostgres {
  readonly url: string
  /** The maintenance database of the same server and role, for `create database`. */
  readonly adminUrl: string
  readonly port: number
  /** The server's process, for a last resort in an exit handler (SIGQUIT stops it at once). */
  readonly pid: number
  /** Whether the server ran already: left by a process that was killed, or in use by one that lives. */
  readonly reused: boolean
  /** Stops the server and returns when it is gone, unless another live process still uses it. Repeating does nothing. */
  stop(): Promise<void>
}

/**
 * Starts the Postgres that npm installed, or finds it running, on 127.0.0.1 with a password of its own. It runs in a
 * session of its own: neither Ctrl-C nor the death of this process reaches it.
 * @throws LocalPostgresError: one sentence that says why it can't be, with the end of server.log where that helps
 */
export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  const dataDir = await prepareDirectory(options.dataDir)
  return withLock(lockOf(dataDir), async () => {
    const { home, password, lastPort } = await openHome(dataDir)
    const binaries = await preparePostgresBinaries(home)
    const found = await findReadyServer(clusterOf(home))
    const settings: Readonly<Record<string, string>> = { shared_buffers: '64MB', ...options.settings }
    if (!found) await ensureCluster(binaries, home, password, settings.fsync !== 'off')
    const server = found ?? (await launchServer(binaries, home, dataDir, options.port ?? lastPort, settings))
    try {
      const away = home.directory === dataDir ? {} : { away: home.directory }
      await writeState(dataDir, { password, port: server.port, ...away })
      const urlOf = (database: string) => `postgres://${ROLE}:${password}@127.0.0.1:${server.port}/${database}`
      const [url, adminUrl] = [urlOf(options.database ?? 'easel'), urlOf('postgres')]
      await ensureDatabase(adminUrl, options.database ?? 'easel', dataDir)
      const stop = await stopFunction(dataDir, binaries, home, server)
      return { url, adminUrl, port: server.port, pid: server.pid, reused: found !== undefined, stop }
    } catch (error) {
      if (!found) await stopServer(binaries, home)
      throw error
    }
  })
}

const lockOf = (dataDir: string) => join(dataDir, 'lock')

async function prepareDirectory(path: string): Promise<string> {
  try {
    await mkdir(path, { recursive: true, mode: 0o755 })
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    await requireOwn(path, 0o002) // an older one has the mode of the umask
    return await realpath(path) // the server's command line, by which it is found again, has no links in it
  } catch (error) {
    if (error instanceof ForeignDirectory) throw error
    throw new LocalPostgresError(
      `${path}, where the database goes, can't be made or written (${errorCode(error)}): make it writable for you, or delete it if it is another user's.`,
      { cause: error },
    )
  }
}

async function stopFunction(dataDir: string, binaries: PostgresBinaries, home: PostgresHome, server: RunningServer) {
  const endUse = await registerUse(join(dataDir, 'users'))
  const stop = async () => {
    if (!existsSync(dataDir)) return killServer(server, clusterOf(home)) // deleted while it ran
    await withLock(lockOf(dataDir), async () => {
      if (!(await endUse()).othersLeft) await stopServer(binaries, home)
    })
  }
  let stopping: Promise<void> | undefined
  return () => {
    stopping ??= stop()
    return stopping
  }
}

async function openHome(dataDir: string) {
  const state = await readState(dataDir)
  if (!state && existsSync(join(dataDir, 'data')))
    throw new LocalPostgresError(
      `${join(dataDir, 'state.json')}, which held the password of the database, is missing: restore it, or delete ${dataDir} to start with an empty database.`,
    )
  const home = await choosePostgresHome(dataDir, state !== undefined, state?.away)
  const away = home.directory !== dataDir
  // With the password its database was given up too: whoever deletes dataDir wants to start over.
  if (!state && away) await discard(clusterOf(home))
  const password = state?.password ?? newPassword()
  // Before the database that it belongs to is made.
  if (!state) await writeState(dataDir, { password, ...(away && { away: home.directory }) })
  return { home, password, lastPort: state?.port }
}

async function discard(data: string): Promise<void> {
  const server = await findServer(data)
  if (server) await killServer(server, data)
  await rm(data, { recursive: true, force: true, maxRetries: 5 })
}

/** A server that is starting is waited for; of one that is stopping, the end. */
async function findReadyServer(data: string): Promise<RunningServer | undefined> {
  for (const deadline = Date.now() + READY_WITHIN_MS; ; await delay(20)) {
    const server = await findServer(data)
    if (!server || server.phase === 'ready') return server
    if (Date.now() > deadline)
      throw new LocalPostgresError(
        `Postgres (process ${server.pid}) has been ${server.phase} for ${READY_WITHIN_MS / 1000} s: see its server.log, and try again when it is done.`,
      )
  }
}

async function ensureDatabase(adminUrl: string, database: string, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl, connectionTimeoutMillis: 10_000 })
  try {
    await client.connect()
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
    if (!rowCount) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`)
  } catch (error) {
    const wrongPassword = error instanceof pg.DatabaseError && error.code === '28P01'
    throw new LocalPostgresError(
      wrongPassword
        ? `The database in ${dataDir} doesn't accept the password in its state.json: restore that file, or stop the server and delete ${dataDir} to start with an empty one.`
        : `Postgres runs but can't be used (${error instanceof Error ? error.message : error}): see ${join(dataDir, 'server.log')}.`,
      { cause: error },
    )
  } finally {
    await client.end().catch(() => undefined)
  }
}
