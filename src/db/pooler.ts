/** What a pooler between Easel and Postgres can break, tried at the start: notices and prepared statements. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import pg from 'pg'
import { type Database, sqlState } from './client.js'
import { queryOnce } from './statement.js'

/** Within the time that a busy Postgres takes. */
const NOTICE_WITHIN_MS = 3000

const PROBE = { name: 'easel_probe', text: 'SELECT 1' }
const DUPLICATE_STATEMENT = '42P05'
const UNKNOWN_STATEMENT = '26000'

/**
 * A Postgres that is away may come later.
 * @throws Error with one sentence where a pooler shares connections in a way that Easel cannot work with
 */
export async function requireFittingPooler(db: Database, listenUrl: string): Promise<void> {
  await requireNotices(db, listenUrl)
  await requirePreparedStatements(db)
}

/** Sends a notice and waits for it. */
async function requireNotices({ pool }: Database, listenUrl: string): Promise<void> {
  const channel = `easel_${randomUUID()}`
  const client = new pg.Client({ connectionString: listenUrl, connectionTimeoutMillis: 2000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const heard = once(client, 'notification').then(
      () => true,
      () => true, // the connection broke: that says nothing of a pooler
    )
    await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    await queryOnce(pool, sql`SELECT pg_notify(${channel}, '')`)
    if (!(await Promise.race([heard, delay(NOTICE_WITHIN_MS, false, { ref: false })])))
      throw new PoolerError(
        'Postgres notices do not arrive: a pooler shares connections per transaction. ' +
          'Set DATABASE_LISTEN_URL to Postgres itself, or let the pooler share per session.',
      )
  } catch (error) {
    if (error instanceof PoolerError) throw error
  } finally {
    client.end().catch(() => undefined)
  }
}

/** Prepares the same statement on two connections: behind a pooler they may be one and the same. */
async function requirePreparedStatements({ pool }: Database): Promise<void> {
  const clients: pg.PoolClient[] = []
  try {
    for (let n = 0; n < 2; n++) clients.push(await pool.connect())
    for (const client of clients) await client.query(PROBE)
  } catch (error) {
    if ([DUPLICATE_STATEMENT, UNKNOWN_STATEMENT].includes(sqlState(error) ?? ''))
      throw new PoolerError(
        'The pooler in front of Postgres loses prepared statements: let it keep them ' +
          '(PgBouncer 1.21 or newer with max_prepared_statements), or share connections per session.',
      )
  } finally {
    for (const client of clients) client.release()
  }
}

class PoolerError extends Error {}
