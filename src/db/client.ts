import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import { AppError } from '../core/errors.js'
import type { ArchiveFiles } from '../core/generations/archive-months.js'
import { type Archive, openArchive } from './archive.js'
import { ConnectionPool, type PoolOptions } from './connection-pool.js'
import { againIfMoved, isSqlRefusal, outcomeUnknown } from './sql-state.js'
import type { Queryable } from './statement.js'

/** Drizzle for typed queries, and its pool for prepared statements. */
export interface Database {
  readonly orm: NodePgDatabase
  readonly pool: ConnectionPool
  /** Tells whom it concerns of a statement that failed; the pool's own queries do so by themselves. */
  readonly noteFailure: (error: unknown) => void
  /** Undefined: without the image store, where its files are. */
  readonly archive: Archive | undefined
}

interface DatabaseOptions extends Pick<PoolOptions, 'onError' | 'onFault' | 'onSuccess'> {
  readonly maxConnections: number
  readonly archiveFiles?: ArchiveFiles
  /** Others are for tests. */
  readonly times?: Partial<DatabaseTimes>
}

export const DATABASE_TIMES = {
  /** The server's time limit ends first, so that a query that we gave up does not run on. */
  statementMs: 5000,
  queryMs: 6000,
  /** The time limit of a wait for a row that somebody else has locked. */
  lockMs: 2000,
  /** After so long Postgres ends the connection of a transaction that asks nothing. */
  idleMs: 5000,
  /** The time limit of a login, of each statement that follows it, and of a wait for the pool while nobody is answered. */
  loginMs: 2000,
}

type DatabaseTimes = Readonly<typeof DATABASE_TIMES>

const settings = ({ statementMs, lockMs, idleMs }: DatabaseTimes): Readonly<Record<string, string>> => ({
  statement_timeout: String(statementMs),
  lock_timeout: String(lockMs),
  idle_in_transaction_session_timeout: String(idleMs),
  synchronous_commit: 'on',
  TimeZone: 'UTC',
  // For a plan over many months it compiles for longer than the statement runs.
  jit: 'off',
})

/** Of each connection, as pg_settings has them. */
export const SESSION_SETTINGS = settings(DATABASE_TIMES)

/** Not every platform has these; without them, the time limits above must do. */
const OPTIONAL_SETTINGS = ['SET client_connection_check_interval = 1000', 'SET tcp_user_timeout = 10000']

/** For what takes long where an operator has set a limit for requests. Postgres has it from 17 on; before, this is refused. */
export const UNLIMITED_TRANSACTIONS = 'SET transaction_timeout = 0'

/** Opens a pool; nothing is connected until the first query. */
export function createDatabase(
  url: string,
  { maxConnections, times: others, archiveFiles, ...told }: DatabaseOptions,
): Database {
  const times = { ...DATABASE_TIMES, ...others }
  const onConnect = (client: pg.ClientBase) => applySettings(client, times)
  const pool = new ConnectionPool({ url, max: maxConnections, ...times, ...told, onConnect })
  const archive = archiveFiles && openArchive(pool, archiveFiles)
  return { orm: ormOn(pool), pool, noteFailure: pool.noteFailure, archive }
}

/** Drizzle asks a pool for nothing but `query`. */
export const ormOn = (pool: Queryable): NodePgDatabase => drizzle(pool as unknown as pg.Pool)

/** Rejects soon when the connection falls silent: it counts as opening all the while, and few may be. */
async function applySettings(client: pg.ClientBase, times: DatabaseTimes): Promise<void> {
  // The types don't know `query_timeout`.
  const apply = (text: string) => client.query(Object.assign({ text }, { query_timeout: times.loginMs }))
  const set = Object.entries(settings(times)).map(([name, value]) => `SET ${name} = '${value}'`)
  await apply(set.join('; '))
  for (const setting of OPTIONAL_SETTINGS)
    await apply(setting).catch((error) => {
      if (outcomeUnknown(error)) throw error
    })
}

/**
 * Runs `work` in one transaction on one connection. Ours, not Drizzle's: db.transaction() on a pool leaks the client
 * when BEGIN times out. Nothing remote belongs inside. `work` is done again if a row that it waited for has moved to its month.
 */
export const withTransaction = <T>(
  db: Database,
  work: (tx: NodePgDatabase, client: pg.PoolClient) => Promise<T>,
): Promise<T> => againIfMoved(() => inTransaction(db, work))

async function inTransaction<T>(
  db: Database,
  work: (tx: NodePgDatabase, client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await db.pool.connect()
  try {
    await client.query('BEGIN')
    const result = await work(drizzle(client), client)
    await client.query('COMMIT')
    client.release()
    return result
  } catch (error) {
    // Anything else leaves the connection in an unknown state.
    if (isSqlRefusal(error) || error instanceof Rollback || error instanceof AppError)
      await client.query('ROLLBACK').then(
        () => client.release(),
        () => client.release(true),
      )
    else {
      db.noteFailure(error)
      client.release(true)
    }
    throw error
  }
}

/** Throw it inside withTransaction to undo its work on purpose; a refusal undoes it, too. */
export class Rollback extends Error {}
