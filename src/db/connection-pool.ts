import pg from 'pg'
import { isStateOfPostgres } from '../core/outage.js'
import { type Hosts, hostsOf, serverOf } from './hosts.js'
import { againIfMoved, isSqlRefusal, outcomeUnknown, sqlState } from './sql-state.js'

export interface PoolOptions {
  readonly url: string
  readonly max: number
  /** ms: of a login, and of a wait for a connection while none opens or comes back. */
  readonly loginMs: number
  /** ms: of a query, and of any wait for a connection. */
  readonly queryMs: number
  /** Awaited before a new connection is lent. */
  readonly onConnect: (client: pg.ClientBase) => Promise<void>
  /** Told of each connection that failed to open or was lost. */
  readonly onError: (error: Error) => void
  /** Told of each statement that Postgres refused for the state that it is in, while it answers. */
  readonly onFault?: ((error: Error) => void) | undefined
  /** Told of each query that succeeded. */
  readonly onSuccess?: (() => void) | undefined
}

const READ_ONLY = '25006'

/** How many connections may be opening at once while few are open. */
const OPENING_AT_FIRST = 2

/**
 * A pool that opens only as many connections at once as are open already, or two; who waits meanwhile shares those that
 * are open. By itself pg.Pool opens one for each query that finds none: after Postgres was away, the twenty logins of
 * every process slow each other down until all time out, and the next queries begin again with twenty.
 */
export class ConnectionPool {
  readonly #options: PoolOptions
  readonly #pool: pg.Pool
  readonly #hosts: Hosts | undefined
  /** Connections that are open. A set: the pool may tell twice that one was removed. */
  readonly #open = new Set<pg.ClientBase>()
  /** Lent, or being opened. */
  #taken = 0
  /** The first comes first. */
  readonly #waiting = new Set<() => void>()
  /** When a connection was last opened, or came back from work that succeeded. */
  #answeredAt = 0
  /** The connections that may be lent again. */
  #current = new WeakSet<pg.ClientBase>()

  constructor(options: PoolOptions) {
    this.#options = options
    this.#hosts = hostsOf(options.url)
    const { max, loginMs, queryMs, onConnect, onError } = options
    const { url, Client } = serverOf(options.url)
    this.#pool = new pg.Pool({
      connectionString: url,
      Client,
      max,
      connectionTimeoutMillis: loginMs,
      query_timeout: queryMs,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      application_name: 'easel',
      types: { getTypeParser },
      // The pool awaits this before it hands the connection out, though its types do not say so.
      onConnect,
    })
    // Without these two listeners a connection that dies ends the process.
    this.#pool.on('error', onError)
    this.#pool.on('connect', (client) => {
      client.on('error', onError)
      this.#current.add(client)
      this.#open.add(client)
      this.#answeredAt = performance.now()
      this.#lendMore()
    })
    this.#pool.on('remove', (client) => this.#open.delete(client))
  }

  /**
   * Release it: `true` closes it.
   * @throws Error when none came free in time, or the login failed; `onError` is told
   */
  async connect(): Promise<pg.PoolClient> {
    try {
      if (this.#mayLend) this.#taken++
      else await this.#turn()
      const client = await this.#pool.connect().catch((error) => {
        this.#takeBack()
        throw error
      })
      const release = client.release.bind(client)
      client.release = (error) => {
        release(error)
        if (!error) this.#answeredAt = performance.now()
        this.#takeBack()
      }
      return client
    } catch (error) {
      this.#hosts?.recheck()
      this.#options.onError(error as Error)
      throw error
    }
  }

  /** Runs a statement once, on any connection. @throws pg.DatabaseError, or the connection's error; the callbacks are told */
  ask = async <Row extends pg.QueryResultRow = pg.QueryResult['rows'][0]>(
    config: string | pg.QueryConfig,
    values?: readonly unknown[],
  ) => {
    const client = await this.connect()
    try {
      const answer = await client.query<Row>(config as pg.QueryConfig, values as unknown[])
      client.release(!this.#current.has(client))
      this.#options.onSuccess?.()
      return answer
    } catch (error) {
      this.noteFailure(error)
      client.release(!isSqlRefusal(error))
      throw error
    }
  }

  /** Like `ask`; again if a row that the statement waited for has moved to its month. */
  query = <Row extends pg.QueryResultRow = pg.QueryResult['rows'][0]>(
    config: string | pg.QueryConfig,
    values?: readonly unknown[],
  ) => againIfMoved(() => this.ask<Row>(config, values))

  /** Tells whom it concerns of a statement that failed. */
  noteFailure = (error: unknown): void => {
    const state = sqlState(error)
    // After a failover the connections that are open lead to the old server, or keep the old setting.
    if (state === READ_ONLY) this.#current = new WeakSet()
    if (state === READ_ONLY || outcomeUnknown(error)) this.#hosts?.recheck()
    if (outcomeUnknown(error)) this.#options.onError(error as Error)
    else if (state && !isSqlRefusal(error) && isStateOfPostgres(state)) this.#options.onFault?.(error as Error)
  }

  /** Resolves when all that was lent is back and every connection is closed. */
  end = (): Promise<void> => this.#pool.end()

  get totalCount(): number {
    return this.#pool.totalCount
  }
  get idleCount(): number {
    return this.#pool.idleCount
  }
  get waitingCount(): number {
    return this.#waiting.size + this.#pool.waitingCount
  }

  get #mayLend(): boolean {
    const most = this.#open.size + Math.max(OPENING_AT_FIRST, this.#open.size)
    return this.#taken < Math.min(this.#options.max, most)
  }

  /** Waits as long as others are answered: on a busy machine a queue is longer than an outage would be. */
  #turn(): Promise<void> {
    const { loginMs, queryMs } = this.#options
    const asked = performance.now()
    return new Promise((resolve, reject) => {
      const lend = () => {
        clearTimeout(timer)
        resolve()
      }
      const look = () => {
        const now = performance.now()
        const left = Math.min(this.#answeredAt + loginMs, asked + queryMs) - now
        if (left > 0) {
          timer = setTimeout(look, left)
          return
        }
        this.#waiting.delete(lend)
        reject(new Error('timeout exceeded when trying to connect'))
      }
      let timer = setTimeout(look, Math.min(loginMs, queryMs))
      this.#waiting.add(lend)
    })
  }

  #takeBack(): void {
    this.#taken--
    this.#lendMore()
  }

  #lendMore(): void {
    for (const lend of this.#waiting) {
      if (!this.#mayLend) return
      this.#waiting.delete(lend)
      this.#taken++
      lend()
    }
  }
}

// All bigints (ids, credits, seeds) lie within 2^53; pg parses the other types.
const INT8 = 20
const INT8_ARRAY = 1016
function getTypeParser(oid: number, format?: unknown): (text: string) => unknown {
  const parser = pg.types.getTypeParser(oid, format as 'text') as (text: string) => unknown
  if (oid === INT8_ARRAY) return (text) => (parser(text) as string[]).map(Number)
  return oid === INT8 ? Number : parser
}
