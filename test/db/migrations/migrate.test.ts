import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { ClaimedGeneration } from '../../../src/core/generations/run/ports.js'
import { MIGRATIONS } from '../../../src/core/release.js'
import { newerMigrations, requireUsableDatabase } from '../../../src/db/checks/database-checks.js'
import { runStore } from '../../../src/db/generations/run.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { newMigration } from '../../../src/db/migrations/new-migration.js'
import { patientDatabase, useDatabase } from '../../support/database.js'
import { startFaultProxy } from '../../support/fault-proxy.js'
import { givenGeneration, givenUser, givenWaiting } from '../../support/givens.js'
import { createEmptyDatabase, createTestDatabase } from '../../support/services.js'
import { until } from '../../support/until.js'

const context = useDatabase()

/** The real migrations, those after `last` left out, and these behind them. */
async function givenMigrations(more: readonly string[], last = '9999'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'easel-migrations-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await cp(MIGRATIONS, folder, { recursive: true })
  const path = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(await readFile(path, 'utf8'))
  journal.entries = journal.entries.filter(({ tag }: { tag: string }) => tag.slice(0, 4) <= last)
  for (const [i, text] of more.entries()) {
    await writeFile(join(folder, `${9000 + i}_test.sql`), text)
    journal.entries.push({ idx: 9000 + i, version: '7', when: 9e12 + i, tag: `${9000 + i}_test`, breakpoints: true })
  }
  await writeFile(path, JSON.stringify(journal))
  return folder
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

const indexes = async (client: pg.Client, like: string) =>
  (
    await client.query(
      `SELECT relname, indisvalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relname LIKE $1 ORDER BY 1`,
      [like],
    )
  ).rows

/** Of this database: other files use the same Postgres. */
const WAITS = `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE datname = current_database() AND NOT granted`

describe('a database that is new', () => {
  async function givenOwner() {
    const { url, drop } = await createEmptyDatabase()
    const owner = `owner_${randomBytes(4).toString('hex')}`
    const cluster = await connected(context.url)
    onTestFinished(async () => {
      await drop()
      await cluster.query(`DROP ROLE ${owner}`)
    })
    const admin = await connected(url)
    await admin.query(`CREATE ROLE ${owner} LOGIN PASSWORD 'secret'`)
    const databaseUrl = Object.assign(new URL(url), { username: owner, password: 'secret' }).href
    return { admin, owner, name: new URL(url).pathname.slice(1), databaseUrl }
  }

  it('is refused while its user may make no tables, with what lets it', async () => {
    const { admin, owner, name, databaseUrl } = await givenOwner()
    await admin.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC')
    const grants = `GRANT CREATE ON DATABASE ${name} TO ${owner}; GRANT CREATE ON SCHEMA public TO ${owner};`
    await expect(migrateDatabase(databaseUrl)).rejects.toThrow(
      `The user in DATABASE_URL may make no tables in this database: let a superuser run in it: ${grants}`,
    )
    await admin.query(grants)
    await migrateDatabase(databaseUrl)
  })

  it('is refused while another schema than public comes first', async () => {
    const { admin, owner, name, databaseUrl } = await givenOwner()
    await admin.query(`ALTER DATABASE ${name} OWNER TO ${owner}; CREATE SCHEMA ${owner} AUTHORIZATION ${owner}`)
    const mend = `ALTER ROLE ${owner} IN DATABASE ${name} SET search_path = public;`
    await expect(migrateDatabase(databaseUrl)).rejects.toThrow(new RegExp(`comes to ${owner} first: .*${mend}$`))
    await admin.query(`GRANT CREATE ON SCHEMA public TO ${owner}; ${mend}`)
    await migrateDatabase(databaseUrl)
  })
})

describe('migrating', () => {
  it('says that a newer release has migrated the database, as each start does', async () => {
    const { url } = await createTestDatabase()
    const client = await connected(url)
    const lines: string[] = []
    await migrateDatabase(url, MIGRATIONS, (line) => lines.push(line))
    expect(lines).toEqual([])
    await migrateDatabase(url, await givenMigrations(['CREATE TABLE notes (note text)']))
    await migrateDatabase(url, MIGRATIONS, (line) => lines.push(line))
    expect(lines).toEqual([expect.stringMatching(/^A newer release has migrated the database: .* the 1 after it\. /)])
    expect(await newerMigrations(client)).toBe(lines[0])
  })

  it('takes longer than an operator lets transactions take', async (test) => {
    const { url } = await createTestDatabase()
    const client = await connected(url)
    const name = new URL(url).pathname.slice(1)
    const { rows } = await client.query("SELECT FROM pg_settings WHERE name = 'transaction_timeout'")
    test.skip(rows.length === 0, 'Postgres has it from 17 on')
    await client.query(`ALTER DATABASE ${name} SET transaction_timeout = '500ms'`)
    await migrateDatabase(url, await givenMigrations(['CREATE TABLE notes AS SELECT pg_sleep(1)::text AS note']))
  })

  it('writes names of plans as they are looked up, also where subscriptions have them', async () => {
    const { pool } = context.db
    const [composed, clash] = [`Caf\u00e9 ${crypto.randomUUID()}`, `Clash ${crypto.randomUUID()}`]
    const old = [` ${composed.normalize('NFD')}\u00a0`, clash, `${clash} `]
    for (const name of old)
      await pool.query(`INSERT INTO plans (name, credits, period) VALUES ($1, 1, 'month')`, [name])
    const user = await givenUser(context.db, {
      subscription: { plan: old[0] as string, endDate: new Date('2099-01-01') },
    })
    const text = await readFile(join(MIGRATIONS, '0071_plan_names_and_payments_under_way.sql'), 'utf8')
    await pool.query(text.split('--> statement-breakpoint')[1] as string)
    const named = await pool.query('SELECT plan FROM subscriptions WHERE user_id = $1', [user.id])
    expect(named.rows).toEqual([{ plan: composed }])
    const { rows } = await pool.query('SELECT name FROM plans WHERE name = ANY ($1) ORDER BY name', [
      [...old, composed],
    ])
    expect(rows.map(({ name }) => name).toSorted()).toEqual([composed, clash, `${clash} `].toSorted())
  })

  it('lets submits and heartbeats go on while it waits for a lock or builds an index', async () => {
    const { db, url } = context
    await givenWaiting(db, await givenUser(db, { developer: { concurrency: 1 } }), {
      personal: 1000,
      create_image: 0,
    })
    await givenGeneration(db, await givenUser(db))
    const runs = runStore(db, { refundFailed: true })
    const serves = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
    const { id, attempt } = (await runs.claim({ worker: 'w', backend: 'b' }, serves)) as ClaimedGeneration
    const column = 'ALTER TABLE all_generations ADD COLUMN note text'
    const index = '-- no-transaction\nCREATE INDEX CONCURRENTLY IF NOT EXISTS generations_note ON generations (note)'
    const other = await connected(url)
    for (const [files, lock] of [
      [[column], 'relation'],
      [[column, index], 'virtualxid'],
    ] as const) {
      // Somebody's long transaction that writes: no table lock and no index is to be had before it ends.
      await other.query('BEGIN')
      await other.query(
        `UPDATE generations SET prompt = 'other' WHERE id = (SELECT min(id) FROM generations WHERE status = 'queued')`,
      )
      const told: string[] = []
      const migrated = migrateDatabase(url, await givenMigrations(files), (line) => told.push(line))
      migrated.catch(() => undefined)
      await until(
        async () => (await db.pool.query(`${WAITS} AND locktype = $1`, [lock])).rowCount,
        `the wait for a ${lock}`,
      )
      for (let i = 0; i < 10; i++) {
        await givenGeneration(db, await givenUser(db))
        expect(await runs.heartbeat(id, attempt)).toBe(true)
      }
      if (lock === 'relation')
        await until(() => told.some((line) => /waits for a long transaction/.test(line)), 'a line about the wait')
      await other.query('COMMIT')
      await migrated
    }
    expect(await indexes(other, 'generations_note')).toEqual([{ relname: 'generations_note', indisvalid: true }])
  })

  it('continues after Drizzle’s own migrator, and builds the missing indexes while other clients write', async () => {
    const { url } = await createEmptyDatabase()
    const client = await connected(url)
    await migrate(drizzle(client), { migrationsFolder: await givenMigrations([], '0011') })
    await client.query(
      `INSERT INTO users (username) VALUES ('one');
       INSERT INTO api_keys (user_id, kind, hash, hint) SELECT id, 'developer', sha256('k'), 'k' FROM users;
       INSERT INTO model_versions (id, name, model_name, base_model, type, filename) VALUES (1, '', '', '', '', '')`,
    )
    const write = (db: pg.Client) =>
      db.query(`
        INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
          negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at)
        SELECT gen_random_uuid(), user_id, id, 'personal', true, 1, '', '', '', '', 8, 8, 1, 1, 1, '', 1, '{s}', 0, now()
          FROM api_keys`)
    const other = await connected(url)
    await other.query('BEGIN')
    await write(other)
    const migrated = migrateDatabase(url)
    migrated.catch(() => undefined)
    await until(async () => (await client.query(WAITS)).rowCount, 'the wait for the writer')
    // The migration may hold it for a moment, but not until the other has ended.
    await client.query(`SET lock_timeout = '60s'`)
    await write(client)
    await other.query('COMMIT')
    await migrated
    expect(await indexes(client, 'generations_newest%')).toEqual([
      { relname: 'generations_newest_failed', indisvalid: true },
      { relname: 'generations_newest_succeeded', indisvalid: true },
    ])
    const { rows } = await client.query('SELECT created_at FROM drizzle.__drizzle_migrations ORDER BY id')
    const journal = JSON.parse(await readFile(join(MIGRATIONS, 'meta/_journal.json'), 'utf8'))
    expect(rows.map((row) => Number(row.created_at))).toEqual(journal.entries.map(({ when }: { when: number }) => when))
  })

  it('keeps the files before one that fails, and builds an index anew that was left half built', async () => {
    const { url } = await createTestDatabase()
    const client = await connected(url)
    const folder = await givenMigrations([
      'CREATE TABLE notes (note text)',
      '-- no-transaction\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS notes_note ON notes (note)\n' +
        '--> statement-breakpoint\nCREATE INDEX CONCURRENTLY IF NOT EXISTS notes_length ON notes (length(note))',
    ])
    await migrateDatabase(url, await givenMigrations(['CREATE TABLE notes (note text)']))
    await client.query(`INSERT INTO notes VALUES ('same'), ('same')`)
    await expect(migrateDatabase(url, folder)).rejects.toThrow(/notes_note/)
    expect(await indexes(client, 'notes%')).toEqual([{ relname: 'notes_note', indisvalid: false }])
    await client.query('DELETE FROM notes')
    const told: string[] = []
    const migrate = () => migrateDatabase(url, folder, (line) => told.push(line))
    const applied = await Promise.all([migrate(), migrate()])
    expect(applied.sort()).toEqual([[], ['9001_test']])
    expect(told).toContain('The index notes_note was left half built: it is built anew.')
    expect(await indexes(client, 'notes%')).toEqual([
      { relname: 'notes_length', indisvalid: true },
      { relname: 'notes_note', indisvalid: true },
    ])
  })
})

describe('a database that cannot keep every character', () => {
  it('is refused by the migration and by a process, in a sentence that says how to create another', async () => {
    const { url } = await createEmptyDatabase('LATIN1')
    const refusal = /^The database has the encoding LATIN1, which lacks most characters: create it anew /
    await expect(migrateDatabase(url)).rejects.toThrow(refusal)
    const db = patientDatabase(url, 1)
    onTestFinished(() => db.pool.end())
    await expect(requireUsableDatabase(db)).rejects.toThrow(refusal)
  })
})

describe('the turn of a migration', () => {
  it('ends with a process that dies, also amid a statement', async () => {
    const { url } = await createTestDatabase()
    const client = await connected(url)
    const network = await startFaultProxy(url)
    onTestFinished(() => network.close())
    const dying = migrateDatabase(network.through(url), await givenMigrations(['SELECT pg_sleep(600)']))
    const died = dying.catch(() => 'died')
    const sleeping = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
    await until(async () => (await client.query(sleeping)).rowCount, 'the statement')
    await network.refuse()
    expect(await died).toBe('died')
    expect(await migrateDatabase(url)).toEqual([])
  })

  it('is told of with who has it, and how to end that one', async () => {
    const { url } = await createTestDatabase()
    const holder = await connected(url)
    await holder.query(`SELECT pg_advisory_lock(hashtext('easel:migrate'))`)
    const { pid } = (await holder.query('SELECT pg_backend_pid() AS pid')).rows[0]
    const told: string[] = []
    const migrated = migrateDatabase(url, undefined, (line) => told.push(line))
    await until(() => told.length > 0, 'a line')
    expect(told[0]).toMatch(
      new RegExp(`^Another "easel migrate" is at work \\(.*since .*\\): .* SELECT pg_terminate_backend\\(${pid}\\)`),
    )
    await holder.query(`SELECT pg_advisory_unlock(hashtext('easel:migrate'))`)
    expect(await migrated).toEqual([])
  })
})

describe('a migration', () => {
  it('gives an existing catalog its revision', async () => {
    const { url } = await createEmptyDatabase()
    const client = await connected(url)
    await migrate(drizzle(client), { migrationsFolder: await givenMigrations([], '0011') })
    // The first catalog has the columns of today, which the tables of then lack.
    await client.query(
      "INSERT INTO model_versions (id, name, model_name, base_model, type, filename) VALUES (1, '', '', '', '', '')",
    )
    await migrateDatabase(url, await givenMigrations([], '0030'))
    await migrateDatabase(url)
    expect((await (await connected(url)).query('SELECT FROM catalog_revision')).rowCount).toBe(1)
  })

  it('builds an index on an existing table outside a transaction', async () => {
    const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql') && name > '0013')
    const blocking: string[] = []
    for (const name of files) {
      const text = await readFile(join(MIGRATIONS, name), 'utf8')
      if (text.startsWith('-- no-transaction\n')) continue
      for (const [, table] of text.matchAll(/^CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/gm))
        if (!new RegExp(`^CREATE (UNLOGGED )?TABLE ${table} `, 'm').test(text)) blocking.push(`${name}: ${table}`)
    }
    expect(blocking).toEqual([])
  })

  it('is made by one command in the form in which it can be applied', async () => {
    const folder = await givenMigrations([])
    const path = newMigration('Notes on users', folder)
    expect(path).toMatch(/\/\d{4}_notes_on_users\.sql$/)
    await writeFile(path, `${await readFile(path, 'utf8')}CREATE TABLE notes (note text);\n`)
    await expectInOrder(folder)
    const { url } = await createTestDatabase()
    await migrateDatabase(url, folder)
    expect((await (await connected(url)).query('SELECT FROM notes')).rowCount).toBe(0)
    expect(() => newMigration('', folder)).toThrow('npm run migration -- <name>')
  })
})

describe('the migrations', () => {
  it('are all in the journal, ordered by number and by time', () => expectInOrder(MIGRATIONS))
})

async function expectInOrder(folder: string): Promise<void> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const { entries } = JSON.parse(await readFile(join(folder, 'meta/_journal.json'), 'utf8'))
  expect(entries.map(({ tag }: { tag: string }) => `${tag}.sql`)).toEqual(files)
  expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_, i) => i + 1))
  expect(entries.map(({ idx }: { idx: number }) => idx)).toEqual(files.map((_, i) => i))
  const times = entries.map(({ when }: { when: number }) => when)
  expect(times).toEqual([...new Set<number>(times)].sort((a, b) => a - b))
}
