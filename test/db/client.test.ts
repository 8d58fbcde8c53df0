import { eq } from 'drizzle-orm'
import pg from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createDatabase, DATABASE_TIMES, type Database, Rollback, withTransaction } from '../../src/db/client.js'
import { users } from '../../src/db/schema/accounts.js'
import { outcomeUnknown, sqlState, violatedConstraint } from '../../src/db/sql-state.js'
import { startProxy, type TcpProxy } from '../programs/chaos/proxy.js'
import { createTestDatabase } from '../support/services.js'
import { until } from '../support/until.js'

const MAX_CONNECTIONS = 4
let url: string
let network: TcpProxy
let db: Database
let told: Error[]
beforeAll(async () => {
  ;({ url } = await createTestDatabase())
})
beforeEach(async () => {
  network = await startProxy(Number(new URL(url).port))
  told = []
  db = open()
})
afterEach(async () => {
  network.close()
  await db.pool.end()
})

/** Its other times are long, so that a busy machine meets none. */
function open(times: Partial<typeof DATABASE_TIMES> = {}): Database {
  const through = Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(network.port) })
  const onError = (error: Error) => void told.push(error)
  return createDatabase(through.href, { maxConnections: MAX_CONNECTIONS, onError, times: { ...LONG, ...times } })
}
const LONG = { loginMs: 60_000, statementMs: 60_000, queryMs: 61_000 }

const succeeds = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  )
const nap = () => db.pool.query('SELECT pg_sleep(0.02)')
const pidOf = async (client: pg.PoolClient): Promise<number> =>
  (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid

/** No connection is lent out for ever: all of them can be had at once, with others waiting for theirs. */
async function expectWholePool() {
  await Promise.all(Array.from({ length: 3 * MAX_CONNECTIONS }, nap))
  expect(db.pool.waitingCount).toBe(0)
  // One more may still be opening.
  await until(() => db.pool.idleCount === db.pool.totalCount, 'every connection to come back')
  expect(db.pool.totalCount).toBeLessThanOrEqual(MAX_CONNECTIONS)
}

async function untilGone(pid: number) {
  const gone = async () => (await db.pool.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).rowCount === 0
  await until(gone, 'the end of the backend')
}

/** What ends a connection, each in its own words: the server's last message, or none. */
const DEATHS: [string, (pid: number) => Promise<unknown>][] = [
  ['ended by the server', (pid) => db.pool.query('SELECT pg_terminate_backend($1)', [pid])],
  ['cut by the network', async () => network.cut()],
]

describe('the pool', () => {
  it('is whole again after Postgres stood still and every query and transaction ran into its time limit', async () => {
    db = open({ queryMs: 500, loginMs: 500 })
    await until(() => succeeds(Promise.all(Array.from({ length: MAX_CONNECTIONS }, nap))), 'open connections')
    network.stall()
    // One transaction hangs in BEGIN and one query in itself on each connection; the rest gets no connection.
    const asked = Array.from({ length: 2 * MAX_CONNECTIONS }, (_, n) =>
      n % 2 ? nap() : withTransaction(db, (_tx, client) => client.query('SELECT 1')),
    )
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'))
    await until(() => db.pool.totalCount === db.pool.idleCount, 'the end of what was being opened')
    network.flow()
    await until(() => succeeds(expectWholePool()), 'the whole pool')
  })

  it('lends all its connections again after Postgres has ended many, and closed others as read-only', async () => {
    const admin = new pg.Client(url)
    await admin.connect()
    onTestFinished(() => admin.end())
    const name = new URL(url).pathname.slice(1)
    let isOver = false
    const asking = Array.from({ length: 3 * MAX_CONNECTIONS }, async (_, n) => {
      while (!isOver) await succeeds(db.pool.query(n % 3 ? 'SELECT 1' : 'CREATE TABLE only_once ()'))
    })
    for (let round = 0; round < 60; round++) {
      const change = round % 2 ? 'RESET default_transaction_read_only' : 'SET default_transaction_read_only = on'
      await admin.query(`ALTER DATABASE ${name} ${change}`)
      await admin.query(`SELECT pg_terminate_backend(pid), pg_sleep(0.01) FROM pg_stat_activity
                          WHERE application_name = 'easel' AND datname = current_database()`)
    }
    isOver = true
    await Promise.all(asking)
    const clients = await Promise.all(Array.from({ length: MAX_CONNECTIONS }, () => db.pool.connect()))
    for (const client of clients) client.release()
  })

  it('opens two connections at first, and answers with them all queries that come meanwhile', async () => {
    const answers = Array.from({ length: 5 * MAX_CONNECTIONS }, () => db.pool.query('SELECT 1'))
    expect(db.pool.totalCount).toBe(2)
    await Promise.all(answers)
    await expectWholePool()
  })

  it('opens as many connections as queries wait while those that are open are busy, and no more than it may', async () => {
    const admin = new pg.Client(url)
    await admin.connect()
    onTestFinished(() => admin.end())
    await admin.query(`
      CREATE TABLE let_go ();
      CREATE FUNCTION pid_once_let_go() RETURNS integer LANGUAGE plpgsql AS $$
      BEGIN
        WHILE NOT EXISTS (SELECT FROM let_go) LOOP PERFORM pg_sleep(0.005); END LOOP;
        RETURN pg_backend_pid();
      END $$`)
    const running = async () =>
      (await admin.query(`SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pid_once_%'`))
        .rowCount
    const pidsOf = async (queries: number, connections: number) => {
      const asked = Array.from({ length: queries }, () => db.pool.query('SELECT pid_once_let_go() AS pid'))
      await until(async () => (await running()) === connections, `${connections} queries at once`)
      await admin.query('INSERT INTO let_go DEFAULT VALUES')
      const pids = new Set((await Promise.all(asked)).map(({ rows }) => rows[0].pid))
      await admin.query('TRUNCATE let_go')
      return pids.size
    }
    expect(await pidsOf(3, 3)).toBe(3)
    expect(await pidsOf(2 * MAX_CONNECTIONS, MAX_CONNECTIONS)).toBe(MAX_CONNECTIONS)
    expect(db.pool.totalCount).toBe(MAX_CONNECTIONS)
  })

  it.each([
    ['at their login', /user/],
    ['at the settings', /statement_timeout/],
    ['at the last setting', /tcp_user_timeout/],
  ])('opens other connections in place of those that fall silent %s', async (_when, request) => {
    db = open({ loginMs: 500 })
    network.silence(request, 2)
    const lost = Promise.allSettled([nap(), nap()])
    // One that asks at the same time waits no longer than they do, and asks again.
    await until(() => succeeds(nap()), 'another connection')
    expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })

  it('lets queries wait for their turn longer than for a login, as long as others are answered', async () => {
    db = open({ loginMs: 1500 })
    const waiting = Array.from({ length: 160 }, () => db.pool.query('SELECT pg_sleep(0.1)'))
    await Promise.all(waiting)
    expect(told).toEqual([])
  })

  it('lets no query wait longer for its turn than for an answer', async () => {
    db = open({ queryMs: 3000 })
    const waiting = Array.from({ length: 240 }, () => succeeds(db.pool.query('SELECT pg_sleep(0.1)')))
    const done = await Promise.all(waiting)
    expect(done.at(0)).toBe(true)
    expect(done.at(-1)).toBe(false)
  })

  it('has the server give a statement up before we do, on every connection', async () => {
    expect(DATABASE_TIMES.statementMs).toBeLessThan(DATABASE_TIMES.queryMs)
    db = open(DATABASE_TIMES)
    const { rows } = await db.pool.query('SELECT name, setting FROM pg_settings WHERE name = ANY ($1)', [
      ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'synchronous_commit'],
    ])
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      statement_timeout: '5000',
      lock_timeout: '2000',
      idle_in_transaction_session_timeout: '5000',
      synchronous_commit: 'on',
    })
  })

  it('is whole again after connections ended that nobody used', async () => {
    await Promise.all(Array.from({ length: MAX_CONNECTIONS }, nap))
    network.cut()
    await until(() => told.length > 0, 'the end being told')
    await expectWholePool()
  })
})

describe('a query', () => {
  const pid = async () => (await db.pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid

  it.each([
    ['its data', 'SELECT 1 / 0', '22012'],
    ['a constraint', `INSERT INTO users (username) VALUES ('no name')`, '23514'],
    ['a trigger', `DO $$ BEGIN RAISE EXCEPTION 'no'; END $$`, 'P0001'],
    ['its time', 'SET statement_timeout = 10; SELECT pg_sleep(1)', '57014'],
  ])('that Postgres refuses for %s keeps its connection usable', async (_for, text, state) => {
    const before = await pid()
    const error = await db.pool.query(text).then(undefined, (thrown: unknown) => thrown)
    expect(sqlState(error)).toBe(state)
    expect(await pid()).toBe(before)
  })

  it('fails once after the table of its prepared statement was altered, and then works again', async () => {
    const prepared = { name: 'all_of_altered', text: 'SELECT * FROM altered' }
    await db.pool.query('CREATE TABLE altered (one integer)')
    await db.pool.query(prepared)
    await db.pool.query('ALTER TABLE altered ADD two integer')
    await expect(db.pool.query(prepared)).rejects.toThrow(/cached plan/)
    expect((await db.pool.query(prepared)).fields).toHaveLength(2)
  })
})

describe('a transaction', () => {
  it.each(DEATHS)('whose connection is %s between two queries fails, and nothing else does', async (_name, end) => {
    await nap()
    let reached = false
    const work = withTransaction(db, async (tx, client) => {
      await tx.insert(users).values({ username: 'half-done', credits: 0 })
      const pid = await pidOf(client)
      await end(pid)
      // Nobody asks anything of the connection now: its end comes as an event, which would end the process unheard.
      await until(() => told.length > 0, 'the end being told')
      await untilGone(pid)
      reached = true
      await client.query('SELECT 1')
    })
    const error = await work.then(undefined, (thrown: unknown) => thrown)
    expect(reached).toBe(true)
    expect(outcomeUnknown(error)).toBe(true)
    expect(await db.orm.select().from(users).where(eq(users.username, 'half-done'))).toEqual([])
    await expectWholePool()
  })

  it.each(DEATHS)(
    'throws its first error, also if its connection was %s before it could roll back',
    async (_n, end) => {
      const error = await withTransaction(db, async (_tx, client) => {
        const pid = await pidOf(client)
        const first = await client.query('SELECT 1 / 0').catch((thrown: unknown) => thrown)
        await end(pid)
        await untilGone(pid)
        throw first
      }).then(undefined, (thrown: unknown) => thrown)
      expect(sqlState(error)).toBe('22012')
      await expectWholePool()
    },
  )

  it.each<[string, Error]>([
    ['an error of the work', new TypeError('boom')],
    ['a rollback on purpose', new Rollback()],
  ])('keeps nothing after %s, and throws it to its caller', async (_name, thrown) => {
    const work = withTransaction(db, async (tx) => {
      await tx.insert(users).values({ username: 'undone', credits: 0 })
      throw thrown
    })
    await expect(work).rejects.toBe(thrown)
    expect(await db.orm.select().from(users).where(eq(users.username, 'undone'))).toEqual([])
    await expectWholePool()
  })

  it('keeps its connection after Postgres has refused a statement', async () => {
    const pids: number[] = []
    for (let n = 0; n < 3; n++) {
      await withTransaction(db, async (_tx, client) => {
        pids.push(await pidOf(client))
        await client.query('SELECT 1 / 0')
      }).catch(() => undefined)
    }
    expect(new Set(pids).size).toBe(1)
  })

  it('has an unknown outcome, and is not undone, if the answer to its COMMIT is lost', async () => {
    network.cutReplies(/COMMIT/, 1)
    const work = withTransaction(db, (tx) => tx.insert(users).values({ username: 'committed', credits: 0 }))
    const error = await work.then(undefined, (thrown: unknown) => thrown)
    expect(outcomeUnknown(error)).toBe(true)
    expect(await db.orm.select().from(users).where(eq(users.username, 'committed'))).toHaveLength(1)
    await expectWholePool()
  })
})

describe('an error of Postgres', () => {
  it('is known by its code and constraint although Drizzle wraps it, and leaves no doubt about the outcome', async () => {
    await db.orm.insert(users).values({ username: 'twice', credits: 0 })
    const error = await db.orm
      .insert(users)
      .values({ username: 'twice', credits: 0 })
      .then(undefined, (thrown: unknown) => thrown)
    expect(sqlState(error)).toBe('23505')
    expect(violatedConstraint(error)).toMatch(/username/)
    expect(outcomeUnknown(error)).toBe(false)
  })

  it('is not caused by a bigint: it is read as a number, also without Drizzle', async () => {
    const { rows } = await db.pool.query('SELECT 4294967295::bigint AS seed, count(*) AS n FROM users WHERE false')
    expect(rows).toEqual([{ seed: 4294967295, n: 0 }])
  })
})
