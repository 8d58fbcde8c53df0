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
const requirePreparedStatements = (db: Database): Promise<void> =>
  withTwoConnections(db, async (clients) => {
    for (const client of clients) await client.query(PROBE)
  }).catch((error) => {
    if (LOST_STATEMENT.test(sqlState(error) ?? ''))
      throw new Error(
        'The pooler in front of Postgres loses prepared statements: let it keep them ' +
          '(PgBouncer 1.21 or newer with max_prepared_statements), or share connections per session.',
      )
  })

async function withTwoConnections<T>(
  { pool }: Database,
  work: (clients: readonly pg.PoolClient[]) => Promise<T>,
): Promise<T> {
  const clients: pg.PoolClient[] = []
  let isSound = false
  try {
    for (let n = 0; n < 2; n++) clients.push(await pool.connect())
    const result = await work(clients)
    isSound = true
    return result
  } finally {
    for (const client of clients) client.release(!isSound)
  }
}

const ROUNDS = 3

/** Whether connections of Postgres change hands from one transaction to the next. */
async function isShared(clients: readonly pg.ClientBase[]): Promise<boolean> {
  const seen = new Map<number, pg.ClientBase>()
  for (let round = 0; round < ROUNDS; round++)
    for (const client of clients) {
      const { pid } = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0] as { pid: number }
      if ((seen.get(pid) ?? client) !== client) return true
      seen.set(pid, client)
    }
  return seen.size > clients.length
}

const ANSWER_WITHIN_MS = 5000

/**
 * For a command that changes the settings of its connection, and holds a lock on it from one transaction to the next.
 * @throws Error with one sentence if `url` leads to a pooler that shares connections per transaction
 */
export async function requirePostgresItself(url: string): Promise<void> {
  const times = { connectionTimeoutMillis: ANSWER_WITHIN_MS, query_timeout: ANSWER_WITHIN_MS }
  const clients = [postgresClient(url, times), postgresClient(url, times)] as const
  for (const client of clients) client.on('error', () => undefined)
  try {
    await clients[0].connect()
    // Postgres may have room for one connection only.
    const shared = await clients[1].connect().then(
      () => isShared(clients),
      () => false,
    )
    if (shared)
      throw new Error(
        'DATABASE_URL leads to a pooler that shares connections per transaction: for this command let it lead to Postgres itself.',
      )
  } finally {
    for (const client of clients) client.end().catch(() => undefined)
  }
}

/** What Postgres sets by itself when a connection of this user opens, and the command that lets it set what Easel wants. */
const DEFAULTS = `
  SELECT name, reset_val AS value,
    format('ALTER ROLE %I IN DATABASE %I SET %s = %L;', session_user, current_database(), name, wanted.value) AS command
  FROM pg_settings JOIN unnest($1::text[], $2::text[]) AS wanted (name, value) USING (name)`

/** A limit of time may be shorter than ours. */
function isFitting(name: string, value: string): boolean {
  const wanted = SESSION_SETTINGS[name]
  if (/_timeout$/.test(name)) return Number(value) > 0 && Number(value) <= Number(wanted)
  return value.replace(/^Etc\/UTC$/, 'UTC') === wanted
}

/**
 * A pooler that shares connections per transaction sends each `SET` to the one that it has at that moment, and later
 * statements to others, which lack it.
 * @returns one sentence with the commands that let Postgres set what gets lost; undefined if nothing does
 */
export const settingsLost = (db: Database): Promise<string | undefined> =>
  withTwoConnections(db, async (clients) => {
    if (!(await isShared(clients))) return undefined
    const wanted = [Object.keys(SESSION_SETTINGS), Object.values(SESSION_SETTINGS)]
    const { rows } = await (clients[0] as pg.PoolClient).query(DEFAULTS, wanted)
    const missing = rows.filter(({ name, value }) => !isFitting(name, value))
    if (!missing.length) return undefined
    return (
      'A pooler shares connections to Postgres per transaction, so what Easel sets on its connections is lost: let Postgres ' +
      `set it, with ${missing.map(({ command }) => command).join(' ')} Then let the pooler connect anew.`
    )
  })
