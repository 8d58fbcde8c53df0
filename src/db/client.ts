import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { isStateOfPostgres } from '../core/outage.js'

/** Drizzle for typed queries, and its pool for prepared statements. */
export interface Database {
  readonly orm: NodePgDatabase
  readonly pool: pg.Pool
  /** Tells whom it concerns of a statement that failed; the pool's own queries do so by themselves. */
  readonly noteFailure: (error: unknown) => void
}

interface DatabaseOptions {
  readonly maxConnections: number
  /** Told of each connection that failed to open or was lost. */
  readonly onError: (error: Error) => void
  /** Told of each statement that Postgres refused for the state that it is in, while it answers. */
  readonly onFault?: (error: Error) => void
  /** Told of each query that succeeded. */
  readonly onSuccess?: () => void
  /** Others are for tests. */
  readonly times?: Partial<DatabaseTimes>
}

export const DATABASE_TIMES = {
  /** The server's time limit ends first, so that a query that we gave up does not run on. */
  statementMs: 5000,
  queryMs: 6000,
  /** The time limit of a wait for a row that somebody else has locked. */
  lockMs: 2000,
  /** The time limit of a login, of each statement that follows it, and of a wait for a connection of the pool. */
  loginMs: 2000,
}

type DatabaseTimes = Readonly<typeof DATABASE_TIMES>

const sessionSettings = ({ statementMs, lockMs }: DatabaseTimes) => `
  SET statement_timeout = ${statementMs}; SET lock_timeout = ${lockMs}; SET idle_in_transaction_session_timeout = 5000;
  SET synchronous_commit = on; SET timezone = 'UTC'`

/** How many connections may be opening at once while few are open. */
const OPENING_AT_FIRST = 2

/** Not every platform has these; without them, the time limits above must do. */
const OPTIONAL_SETTINGS = ['SET client_connection_check_interval = 1000', 'SET tcp_user_timeout = 10000']

/** Opens a pool; nothing is connected until the first query. */
export function createDatabase(url: string, options: DatabaseOptions): Database {
  const { maxConnections, onError, onFault, onSuccess } = options
  const times = { ...DATABASE_TIMES, ...options.times }
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: times.loginMs,
    query_timeout: times.queryMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: 'easel',
    types: { getTypeParser },
    // The pool awaits this before it hands the connection out, though its types do not say so.
    onConnect: (client) => applySettings(client, times),
  })
  limitOpening(pool, maxConnections, onError)
  // Without these two listeners a connection that dies ends the process.
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', onError))
  const connect: () => Promise<pg.PoolClient> = pool.connect.bind(pool)
  pool.connect = (() =>
    connect().catch((error) => {
      onError(error)
      throw error
    })) as typeof pool.connect
  let current = new WeakSet<pg.ClientBase>()
  pool.on('connect', (client) => current.add(client))
  const noteFailure = (error: unknown): void => {
    const state = sqlState(error)
    // After a failover the connections that are open lead to the old server, or keep the old setting.
    if (state === READ_ONLY) current = new WeakSet()
    if (outcomeUnknown(error)) onError(error as Error)
    else if (state && !isRefusal(error) && isStateOfPostgres(state)) onFault?.(error as Error)
  }
  pool.query = (async (...asked: Parameters<pg.PoolClient['query']>) => {
    const client = await pool.connect()
    try {
      const answer = await client.query(...asked)
      client.release(!current.has(client))
      onSuccess?.()
      return answer
    } catch (error) {
      noteFailure(error)
      client.release(!isRefusal(error))
      throw error
    }
  }) as typeof pool.query
  return { orm: drizzle(pool), pool, noteFailure }
}

const READ_ONLY = '25006'

/** Rejects soon when the connection falls silent: it counts as opening all the while, and few may be. */
async function applySettings(client: pg.ClientBase, times: DatabaseTimes): Promise<void> {
  // The types don't know `query_timeout`.
  const apply = (text: string) => client.query(Object.assign({ text }, { query_timeout: times.loginMs }))
  await apply(sessionSettings(times))
  for (const setting of OPTIONAL_SETTINGS)
    await apply(setting).catch((error) => {
      if (outcomeUnknown(error)) throw error
    })
}

/**
 * Lets only as many connections open at once as are open already, or two; queries that wait share those that are open.
 * By itself the pool opens one for each query that finds none: after Postgres was away, the twenty logins of every
 * process slow each other down until all time out, and the next queries begin again with twenty.
 */
function limitOpening(pool: pg.Pool, maxConnections: number, onError: (error: Error) => void): void {
  let lent = 0
  const opening = () => pool.totalCount - pool.idleCount - lent
  const mayOpen = () => Math.max(OPENING_AT_FIRST, pool.idleCount + lent) - opening()
  // The pool reads its limit anew whenever it could open a connection.
  const max = () => Math.min(maxConnections, pool.totalCount + mayOpen())
  Object.defineProperty(pool.options, 'max', { get: max })
  const connect: () => Promise<pg.PoolClient> = pool.connect.bind(pool)
  pool.on('acquire', () => {
    lent++
    // The pool itself opens another one only when a new query comes; those that wait already may wait for slow ones.
    if (pool.waitingCount > opening() && pool.idleCount === 0 && pool.totalCount < max())
      connect().then((client) => client.release(), onError)
  })
  pool.on('release', () => lent--)
}

/**
 * Runs `work` in one transaction on one connection. Ours, not Drizzle's: db.transaction() on a pool leaks the client
 * when BEGIN times out. Nothing remote belongs inside.
 */
export async function withTransaction<T>(
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
    if (isRefusal(error) || error instanceof Rollback)
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

/**
 * Whether Postgres refused the statement for its data or its time, and the connection still works. After other errors it
 * may not: a prepared statement whose table was altered fails on its connection for ever (0A000).
 */
const isRefusal = (error: unknown): boolean => /^(22|23|40|55|57014|P0)/.test(sqlState(error) ?? '')

/** Throw it inside withTransaction to undo its work on purpose. */
export class Rollback extends Error {}

/** Postgres's own error, which Drizzle wraps. */
export function databaseError(error: unknown): pg.DatabaseError | undefined {
  for (let e = error; e instanceof Error; e = e.cause) if (e instanceof pg.DatabaseError) return e
  return undefined
}

export const sqlState = (error: unknown): string | undefined => databaseError(error)?.code
export const violatedConstraint = (error: unknown): string | undefined => databaseError(error)?.constraint

/** Whether the answer to a statement was lost: it may have been executed or not. */
export const outcomeUnknown = (error: unknown): boolean => {
  if (error instanceof TypeError) return false // never sent
  const state = sqlState(error)
  // 57P01-57P03: the server ended the connection; 08xxx: the connection broke.
  return state === undefined || state.startsWith('08') || /^57P0[1-3]$/.test(state)
}

// All bigints (ids, credits, seeds) lie within 2^53; pg parses the other types.
const INT8 = 20
function getTypeParser(oid: number, format?: unknown): (text: string) => unknown {
  return oid === INT8 ? Number : (pg.types.getTypeParser(oid, format as 'text') as (text: string) => unknown)
}
