import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { apiKeyHint, hashApiKey, isWellFormedApiKey, newApiKey } from '../account/api-key.js'
import { createDatabase, type Database, withTransaction } from '../db/client.js'
import { writePrivately } from './state-directory.js'

/** Unlikely to be anyone else's: DATABASE_URL may name a database that has users. */
const USERNAME = 'easel-demo'
const PLAN = 'Demo'
const CREDITS = 1000
const LOW = 100

/** What `npm start` prints a key of, and the demo calls with. */
export interface Demo {
  readonly account: DemoAccount
  /** A model version to ask for. */
  readonly modelVersionId: number
  /** Whether a backend that answers has it. */
  readonly served: boolean
}

export interface DemoAccount {
  readonly username: string
  readonly credits: number
  readonly key: string
}

/**
 * Makes sure of the demo's user: an active subscription, credits enough, and a key, which is kept in `keyFile` and
 * made anew where that one doesn't open this database.
 * @param whenReady the worker that is being started has said by then which models its backends have; none for one that
 * runs already
 * @throws Error with one sentence when no model is enabled, and what `whenReady` rejects with
 */
export async function prepareDemo(
  { databaseUrl, keyPrefix }: { readonly databaseUrl: string; readonly keyPrefix: string },
  keyFile: string,
  whenReady?: Promise<unknown>,
): Promise<Demo> {
  const db = createDatabase(databaseUrl, { maxConnections: 2, onError: () => undefined })
  try {
    // What a worker that has ended said before doesn't count; one that runs speaks up every few seconds.
    const heardSince = await db.pool.query<{ at: Date }>(`SELECT now() - $1::interval AS at`, [
      whenReady === undefined ? '15 seconds' : '0',
    ])
    const [account] = await Promise.all([prepareAccount(db, keyFile, keyPrefix), whenReady])
    return { account, ...(await findModel(db, heardSince.rows[0]?.at as Date)) }
  } finally {
    await db.pool.end()
  }
}

async function prepareAccount(db: Database, keyFile: string, keyPrefix: string): Promise<DemoAccount> {
  const kept = (await readFile(keyFile, 'utf8').catch(() => '')).trim()
  const account = await withTransaction(db, async (_tx, client) => {
    // Two starts at once: the second one finds what the first one made.
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('easel:demo-account'))`)
    const userId = await ensureUser(client)
    await ensureSubscription(client, userId)
    await topUp(client, userId)
    const { rows } = await client.query('SELECT credits FROM users WHERE id = $1', [userId])
    const works = isWellFormedApiKey(kept, keyPrefix) && (await opens(client, userId, kept))
    return { username: USERNAME, credits: rows[0].credits, key: works ? kept : await addKey(client, userId, keyPrefix) }
  })
  if (account.key !== kept) await writePrivately(keyFile, `${account.key}\n`)
  return account
}

async function ensureUser(client: pg.PoolClient): Promise<string> {
  await client.query(
    'INSERT INTO users (username) VALUES ($1) ON CONFLICT (lower(username)) WHERE deleted_at IS NULL DO NOTHING',
    [USERNAME],
  )
  const { rows } = await client.query('SELECT id FROM users WHERE lower(username) = $1 AND deleted_at IS NULL', [
    USERNAME,
  ])
  return rows[0].id
}

async function ensureSubscription(client: pg.PoolClient, userId: string): Promise<void> {
  await client.query(
    `INSERT INTO subscriptions AS s (user_id, status, plan, end_date) VALUES ($1, 'active', $2, now() + interval '1 year')
     ON CONFLICT (user_id) DO UPDATE SET status = excluded.status, end_date = excluded.end_date
     WHERE s.status <> excluded.status OR s.end_date < now() + interval '1 month'`,
    [userId, PLAN],
  )
}

/** Balance and ledger move in one statement, as everywhere. */
async function topUp(client: pg.PoolClient, userId: string): Promise<void> {
  await client.query(
    `WITH missing AS (
       SELECT id, $2::bigint - credits AS delta FROM users WHERE id = $1 AND credits < $3 FOR UPDATE
     ), given AS (
       UPDATE users u SET credits = u.credits + missing.delta FROM missing WHERE u.id = missing.id
       RETURNING u.id, u.credits, missing.delta
     )
     INSERT INTO credit_ledger (user_id, kind, delta, balance, note)
     SELECT id, 'grant', delta, credits, 'topped up by npm start' FROM given`,
    [userId, CREDITS, LOW],
  )
}

async function opens(client: pg.PoolClient, userId: string, key: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM api_keys WHERE hash = $1 AND user_id = $2 AND kind = 'personal' AND revoked_at IS NULL`,
    [hashApiKey(key), userId],
  )
  return rowCount === 1
}

async function addKey(client: pg.PoolClient, userId: string, prefix: string): Promise<string> {
  const key = newApiKey(prefix)
  await client.query(
    `INSERT INTO api_keys (user_id, kind, name, hash, hint) VALUES ($1, 'personal', 'npm start', $2, $3)`,
    [userId, hashApiKey(key), apiKeyHint(key)],
  )
  return key
}

/** One that a backend has now, if any does. */
async function findModel({ pool }: Database, heardSince: Date): Promise<{ modelVersionId: number; served: boolean }> {
  const { rows } = await pool.query<{ id: number; served: boolean }>(
    `SELECT m.id, EXISTS (SELECT FROM backends b WHERE b.up AND b.seen_at >= $1
                             AND (b.models IS NULL OR m.filename = ANY (b.models))) AS served
       FROM model_versions m
      WHERE m.enabled
      ORDER BY served DESC, m.nsfw, lower(m.model_name) COLLATE "C", lower(m.name) COLLATE "C", m.id
      LIMIT 1`,
    [heardSince],
  )
  if (!rows[0])
    throw new Error('No model is enabled: enable one with "npm run cli -- models enable ID" and start again.')
  return { modelVersionId: rows[0].id, served: rows[0].served }
}
