import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type PgQueryable, runMigrations } from 'bullmq'
import { type SQL, sql } from 'drizzle-orm'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import { SEED_MODELS } from '../../core/catalog/model-version.js'
import { MIGRATIONS } from '../../core/release.js'
import { JOURNAL, newerMigrations, requireEncoding } from '../checks/database-checks.js'
import { UNLIMITED_TRANSACTIONS } from '../client.js'
import { postgresClient } from '../hosts.js'
import { modelVersions } from '../schema/catalog.js'
import { sqlState } from '../sql-state.js'
import { queryOnce } from '../statement.js'

/** As Drizzle's migrator does it, which itself would run all files in one transaction. */
const CREATE_JOURNAL = [
  sql`CREATE SCHEMA IF NOT EXISTS drizzle`,
  sql`CREATE TABLE IF NOT EXISTS ${JOURNAL} (id serial PRIMARY KEY, hash text NOT NULL, created_at bigint)`,
]

/** First line of a file whose statements run one by one outside a transaction; each must be safe to repeat. */
const NO_TRANSACTION = '-- no-transaction\n'
/** The last file from before that mark. */
const LAST_UNMARKED = 1794900011000
const INDEX = /^CREATE (?<unique>UNIQUE )?INDEX (?:CONCURRENTLY IF NOT EXISTS )?(?<name>\w+) ON (?<table>\w+)/m

/** Whatever needs a table waits behind a statement that waits for it. So that one gives up, pauses and tries again. */
const LOCK_TIMEOUT_MS = 500
const LET_PASS_MS = 500
const LOCKED_WITHIN_MS = 300_000
const TURN_MS = 250
/** Rounds: a second or two. */
const WORTH_TELLING = 2

/**
 * Postgres learns of a client that died from what it sends to it, which may be hours later amid a statement, or of a machine
 * that is gone. Until then nobody else has the turn. Not every platform has these.
 */
const MISSED_SOON = [
  'client_connection_check_interval = 1000',
  'tcp_keepalives_idle = 20',
  'tcp_keepalives_interval = 10',
  'tcp_keepalives_count = 3',
]

/** Told in one sentence what is done or waited for. */
type Tell = (line: string) => unknown

/**
 * Brings a database up to date: our tables, what BullMQ's Postgres backend needs, and the catalog if it is empty. Safe
 * while the service runs, and when several replicas do it at once: the later ones wait and find nothing to do.
 * @returns the names of the files that were applied
 * @throws Error with one sentence if the database has an encoding that will not do, or no place for the tables
 */
export async function migrateDatabase(
  databaseUrl: string,
  folder = MIGRATIONS,
  tell: Tell = () => undefined,
): Promise<string[]> {
  const client = postgresClient(databaseUrl, {
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    application_name: 'easel migrate',
  })
  // A connection that dies also fails the query it was for.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await requireEncoding(client)
    await requirePlace(client)
    for (const setting of MISSED_SOON) await client.query(`SET ${setting}`).catch(() => undefined)
    for (let turn = 0; !(await hasTurn(client)); turn++) {
      if (turn === 0) tell(waitsFor(await holderOfTurn(client)))
      await delay(TURN_MS)
    }
    await client.query(`SET statement_timeout = 0; SET lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await client.query(UNLIMITED_TRANSACTIONS).catch(() => undefined)
    for (const statement of CREATE_JOURNAL) await queryOnce(client, statement)
    const [done] = await queryOnce<{ last: string }>(client, sql`SELECT max(created_at) AS last FROM ${JOURNAL}`)
    const missing = filesIn(folder).filter(({ folderMillis }) => folderMillis > Number(done?.last ?? 0))
    const newer = await newerMigrations(client)
    if (newer) tell(newer)
    for (const [n, file] of missing.entries()) {
      tell(`Migration ${n + 1} of ${missing.length}: ${file.tag}`)
      await apply(client, file, tell)
    }
    await retryWhileLocked(() => runMigrations(client as unknown as PgQueryable), tell)
    const db = drizzle(client)
    if ((await db.$count(modelVersions)) === 0) await db.insert(modelVersions).values([...SEED_MODELS])
    return missing.map(({ tag }) => tag)
  } finally {
    await client.end()
  }
}

const OLDEST_POSTGRES = 14

/** @throws Error with one sentence where the tables of a new installation could not be made, or would not be found */
async function requirePlace(client: pg.Client): Promise<void> {
  const [it] = await queryOnce<{
    version: string
    isNew: boolean
    schema: string | null
    may: boolean
    who: string
    where: string
  }>(
    client,
    sql`SELECT current_setting('server_version') AS version, to_regclass('drizzle.__drizzle_migrations') IS NULL AS "isNew",
               current_schema() AS schema, quote_ident(current_user) AS who, quote_ident(current_database()) AS "where",
               has_database_privilege(current_database(), 'CREATE')
               AND has_schema_privilege(to_regnamespace('public'), 'CREATE') AS may`,
  )
  if (!it?.isNew) return
  const { version, schema, may, who, where } = it
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES)
    throw new Error(`This Postgres is ${version}: Easel needs ${OLDEST_POSTGRES} or newer.`)
  // Functions of Easel, and the rights of APP_DATABASE_URL's user, are for that schema.
  if (schema !== 'public')
    throw new Error(
      `Easel keeps its tables in the schema public, but here the user in DATABASE_URL comes to ${schema ?? 'none'} first: give Easel a database of its own, or run: ALTER ROLE ${who} IN DATABASE ${where} SET search_path = public;`,
    )
  if (!may)
    throw new Error(
      `The user in DATABASE_URL may make no tables in this database: let a superuser run in it: GRANT CREATE ON DATABASE ${where} TO ${who}; GRANT CREATE ON SCHEMA public TO ${who};`,
    )
}

type MigrationFile = MigrationMeta & { readonly tag: string }

function filesIn(folder: string): MigrationFile[] {
  const { entries } = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8'))
  return readMigrationFiles({ migrationsFolder: folder }).map((file, n) => ({ ...file, tag: entries[n].tag }))
}

/** Polled: CREATE INDEX CONCURRENTLY and a process that waits for the lock would wait for each other. */
const hasTurn = (client: pg.Client): Promise<boolean> => exists(client, sql`SELECT WHERE pg_try_advisory_lock(${TURN})`)
const TURN = sql`hashtext('easel:migrate')`

interface Holder {
  readonly pid: number
  readonly since: string
  /** Null: by a socket, or none of our business. */
  readonly address: string | null
}

async function holderOfTurn(client: pg.Client): Promise<Holder | undefined> {
  const [holder] = await queryOnce<Holder>(
    client,
    sql`
      SELECT pid, to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS TZ') AS since, host(client_addr) AS address
      FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND datname = current_database()
        AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = ${TURN}::bigint`,
  )
  return holder
}

function waitsFor(holder: Holder | undefined): string {
  if (!holder) return 'Another "easel migrate" is at work: waiting for its end.'
  const from = holder.address === null ? '' : `from ${holder.address}, `
  return `Another "easel migrate" is at work (${from}since ${holder.since}): waiting for its end. If it is gone, end its connection in Postgres: SELECT pg_terminate_backend(${holder.pid}).`
}

async function apply(client: pg.Client, { sql: statements, hash, folderMillis }: MigrationFile, tell: Tell) {
  const marked = statements[0]?.startsWith(NO_TRANSACTION)
  const together: string[] = []
  for (const statement of statements) {
    if (marked) await runAlone(client, statement, tell)
    else if (folderMillis <= LAST_UNMARKED && (await isOnExistingTable(client, statement)))
      await runAlone(
        client,
        statement.replace(INDEX, 'CREATE $<unique>INDEX CONCURRENTLY IF NOT EXISTS $<name> ON $<table>'),
        tell,
      )
    else together.push(statement)
  }
  await retryWhileLocked(async () => {
    await client.query('BEGIN')
    try {
      for (const statement of together) await client.query(statement)
      await queryOnce(client, sql`INSERT INTO ${JOURNAL} (hash, created_at) VALUES (${hash}, ${folderMillis})`)
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined)
      throw error
    }
  }, tell)
}

async function isOnExistingTable(client: pg.Client, statement: string): Promise<boolean> {
  const table = INDEX.exec(statement)?.groups?.table
  return table !== undefined && exists(client, sql`SELECT WHERE to_regclass(${table}) IS NOT NULL`)
}

async function runAlone(client: pg.Client, statement: string, tell: Tell): Promise<void> {
  const index = INDEX.exec(statement)?.groups?.name
  await retryWhileLocked(async () => {
    // It blocks nothing while it waits.
    if (/\bCONCURRENTLY\b/.test(statement)) await client.query('SET lock_timeout = 0')
    try {
      if (index && (await isBroken(client, index))) {
        tell(`The index ${index} was left half built: it is built anew.`)
        await client.query(`DROP INDEX CONCURRENTLY ${index}`)
      }
      await client.query(statement)
    } finally {
      await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`).catch(() => undefined)
    }
  }, tell)
}

/** A CREATE INDEX CONCURRENTLY that was interrupted leaves one: it costs every write and serves no query. */
const isBroken = (client: pg.Client, index: string): Promise<boolean> =>
  exists(client, sql`SELECT FROM pg_index WHERE indexrelid = to_regclass(${index}) AND NOT indisvalid`)

const exists = async (client: pg.Client, rows: SQL) => (await queryOnce(client, rows)).length > 0

/** Repeats work that did not get its locks in time. */
async function retryWhileLocked(work: () => Promise<unknown>, tell: Tell): Promise<void> {
  const until = performance.now() + LOCKED_WITHIN_MS
  for (let round = 1; ; round++) {
    try {
      await work()
      return
    } catch (error) {
      if (!/^(55P03|40P01)$/.test(sqlState(error) ?? '') || performance.now() > until) throw error
      if (round === WORTH_TELLING)
        tell(`It waits for a long transaction of somebody else, at most ${LOCKED_WITHIN_MS / 60_000} minutes.`)
      await delay(LET_PASS_MS)
    }
  }
}
