/** What a pooler between Easel and Postgres can break. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import pg from 'pg'
import { type Database, SESSION_SETTINGS } from '../client.js'
import { postgresClient } from '../hosts.js'
import { sqlState } from '../sql-state.js'
import { queryOnce } from '../statement.js'
import { requireOutage } from './database-checks.js'

/** Longer than a busy Postgres takes. */
const NOTICE_WITHIN_MS = 3000

const PROBE = { name: 'easel_probe', text: 'SELECT 1' }
/** SQLSTATEs of a statement that was prepared twice, or is unknown. */
const LOST_STATEMENT = /^(42P05|26000)$/

/**
 * Tries what a pooler in front of Postgres can break: notices and prepared statements. A Postgres that is only down does
 * not stop the start.
 * @throws Error with one sentence if the pooler shares connections in a way that Easel cannot work with
 */
export async function requireFittingPooler(
  db: Database,
  listenUrl: string,
  noticeWithinMs = NOTICE_WITHIN_MS,
): Promise<void> {
  if (!(await noticeArrives(db, listenUrl, noticeWithinMs)))
    throw new Error(
      'Postgres notices do not arrive: a pooler shares connections per transaction. ' +
        'Set DATABASE_LISTEN_URL to Postgres itself, or let the pooler share per session.',
    )
  await requirePreparedStatements(db)
}

/** True also if Postgres cannot be asked: that says nothing about a pooler. */
async function noticeArrives({ pool }: Database, listenUrl: string, withinMs: number): Promise<boolean> {
  const channel = `easel_${randomUUID()}`
  const client = postgresClient(listenUrl, { connectionTimeoutMillis: 2000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const received = once(client, 'notification').then(
      () => true,
      () => true,
    )
    await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    await queryOnce(pool, sql`SELECT pg_notify(${channel}, '')`)
    return await Promise.race([received, delay(withinMs, false, { ref: false })])
  } catch (error) {
    requireOutage(error, 'DATABASE_LISTEN_URL')
    return true
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
    if (LOST_STATEMENT.test(sqlState(error) ?? ''))
      throw new Error(
        'The pooler in front of Postgres loses prepared statements: let it keep them ' +
          '(PgBouncer 1.21 or newer with max_prepared_statements), or share connections per session.',
      )
  } finally {
    for (const client of clients) client.release()
  }
}

/** Whether a pooler stands in between: it tells its clients a process ID of its own. */
async function isPooled(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  // The types don't know it.
  return rows[0].pid !== (client as unknown as { processID: number }).processID
}

/**
 * For what sets its connection for itself, and keeps locks on it from one transaction to the next. Who needs a way around
 * a pooler has one that shares per transaction.
 * @throws Error with one sentence if such a pooler is behind `url`
 */
export async function requirePostgresItself(url: string, listenUrl: string): Promise<void> {
  if (url === listenUrl) return
  const client = postgresClient(url, { connectionTimeoutMillis: 5000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    if (await isPooled(client))
      throw new Error(
        'DATABASE_URL leads to a pooler that shares connections per transaction: for this command let it lead to Postgres ' +
          'itself, as DATABASE_LISTEN_URL does.',
      )
  } finally {
    client.end().catch(() => undefined)
  }
}

const LOST = `
  SELECT format('ALTER ROLE %I IN DATABASE %I SET %s = %L;', session_user, current_database(), name, wanted.value) AS command
  FROM pg_settings JOIN unnest($1::text[], $2::text[]) AS wanted (name, value) USING (name)
  WHERE reset_val <> wanted.value`

/**
 * Which of the settings that Easel gives its connections a pooler loses, as one sentence with what stores them; undefined
 * without a pooler, and where Postgres knows them by itself. One that shares connections per transaction leaves a setting
 * with the connection that it had at that moment, and lends others, where nothing limits how long a statement waits.
 */
export async function settingsLost({ pool }: Database): Promise<string | undefined> {
  const client = await pool.connect()
  try {
    if (!(await isPooled(client))) return undefined
    const { rows } = await client.query(LOST, [Object.keys(SESSION_SETTINGS), Object.values(SESSION_SETTINGS)])
    if (!rows.length) return undefined
    return (
      'A pooler shares connections to Postgres per transaction, so what Easel sets on its connections is lost: let Postgres ' +
      `set it, with ${rows.map(({ command }) => command).join(' ')} Then let the pooler connect anew.`
    )
  } finally {
    client.release()
  }
}
