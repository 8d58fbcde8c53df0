import { setTimeout as delay } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import type pg from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createDatabase,
  type Database,
  outcomeUnknown,
  Rollback,
  sqlState,
  violatedConstraint,
  withTransaction,
} from '../../src/db/client.js'
import { users } from '../../src/db/schema.js'
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
  const through = Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(network.port) })
  told = []
  db = createDatabase(through.href, { maxConnections: MAX_CONNECTIONS, onError: (error) => told.push(error) })
})
afterEach(async () => {
  network.close()
  await db.pool.end()
})

const nap = () => db.pool.query('SELECT pg_sleep(0.02)')
const pidOf = async (client: pg.PoolClient): Promise<number> =>
  (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid

/** No connection is lent out for ever: all of them can be had at once, with others waiting for theirs. */
async function expectWholePool(within: number) {
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: 3 * MAX_CONNECTIONS }, nap))
  expect(performance.now() - startedAt).toBeLessThan(within)
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
  it('is whole again right after Postgres stood still, whatever was asked meanwhile', async () => {
    await Promise.all(Array.from({ length: MAX_CONNECTIONS }, nap))
    network.stall()
    // One transaction hangs in BEGIN and one query in itself on each connection; the rest gets no connection.
    const asked = Array.from({ length: 2 * MAX_CONNECTIONS }, (_, n) =>
      n % 2 ? nap() : withTransaction(db, (_tx, client) => client.query('SELECT 1')),
    )
    const startedAt = performance.now()
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'))
    // Not before the server's own deadline: a statement that runs on behind our back would be worse.
    expect(performance.now() - startedAt).toBeGreaterThan(5000)
    expect(performance.now() - startedAt).toBeLessThan(12_000)
    expect(db.pool.totalCount - db.pool.idleCount).toBe(0)
    network.flow()
    await expectWholePool(2000)
  })

  it('opens two connections at first, and with them answers all who ask meanwhile', async () => {
    const answers = Array.from({ length: 5 * MAX_CONNECTIONS }, () => db.pool.query('SELECT 1'))
    expect(db.pool.totalCount).toBe(2)
    await Promise.all(answers)
    await expectWholePool(2000)
  })

  it('opens as many as queries wait while those that are open take long, and no more than it may', async () => {
    const pidsOf = async (queries: number) => {
      const asked = Array.from({ length: queries }, async () => {
        const { rows } = await db.pool.query('SELECT pg_backend_pid() AS pid FROM pg_sleep(0.7)')
        return rows[0].pid
      })
      return new Set(await Promise.all(asked)).size
    }
    expect(await pidsOf(3)).toBe(3)
    expect(await pidsOf(2 * MAX_CONNECTIONS)).toBe(MAX_CONNECTIONS)
    expect(db.pool.totalCount).toBe(MAX_CONNECTIONS)
  })

  it.each([
    ['at their login', /user/],
    ['at the settings', /statement_timeout/],
    ['at the last setting', /tcp_user_timeout/],
  ])('opens others in place of those that fall silent %s', async (_when, request) => {
    network.silence(request, 2)
    const lost = Promise.allSettled([nap(), nap()])
    // Later, because it waits no longer than they do; they are given up while it waits.
    await delay(1000)
    await nap()
    expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })

  it('has the server give up before we do, on every connection', async () => {
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

  it('outlives the end of connections that nobody uses', async () => {
    await Promise.all(Array.from({ length: MAX_CONNECTIONS }, nap))
    network.cut()
    await until(() => told.length > 0, 'the end being told')
    await expectWholePool(2000)
  })
})

describe('a query', () => {
  const pid = async () => (await db.pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid

  it.each([
    ['its data', 'SELECT 1 / 0', '22012'],
    ['a constraint', `INSERT INTO users (username, credits) VALUES ('in-debt', -1)`, '23514'],
    ['a trigger', `DO $$ BEGIN RAISE EXCEPTION 'no'; END $$`, 'P0001'],
    ['its time', 'SET statement_timeout = 10; SELECT pg_sleep(1)', '57014'],
  ])('that Postgres refuses for %s does not cost its connection', async (_for, text, state) => {
    const before = await pid()
    const error = await db.pool.query(text).then(undefined, (thrown: unknown) => thrown)
    expect(sqlState(error)).toBe(state)
    expect(await pid()).toBe(before)
  })

  it('works again after one fault when the table under its prepared statement was altered', async () => {
    const prepared = { name: 'all_of_altered', text: 'SELECT * FROM altered' }
    await db.pool.query('CREATE TABLE altered (one integer)')
    await db.pool.query(prepared)
    await db.pool.query('ALTER TABLE altered ADD two integer')
    await expect(db.pool.query(prepared)).rejects.toThrow(/cached plan/)
    expect((await db.pool.query(prepared)).fields).toHaveLength(2)
  })
})

describe('a transaction', () => {
  it.each(DEATHS)('whose connection is %s between two queries fails alone', async (_name, end) => {
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
    await expectWholePool(2000)
  })

  it.each(DEATHS)(
    'throws what failed first, also where its connection was %s before it could roll back',
    async (_n, end) => {
      const error = await withTransaction(db, async (_tx, client) => {
        const pid = await pidOf(client)
        const first = await client.query('SELECT 1 / 0').catch((thrown: unknown) => thrown)
        await end(pid)
        await untilGone(pid)
        throw first
      }).then(undefined, (thrown: unknown) => thrown)
      expect(sqlState(error)).toBe('22012')
      await expectWholePool(2000)
    },
  )

  it.each<[string, Error]>([
    ['an error of the work', new TypeError('boom')],
    ['a rollback on purpose', new Rollback()],
  ])('keeps nothing after %s, which it throws on', async (_name, thrown) => {
    const work = withTransaction(db, async (tx) => {
      await tx.insert(users).values({ username: 'undone', credits: 0 })
      throw thrown
    })
    await expect(work).rejects.toBe(thrown)
    expect(await db.orm.select().from(users).where(eq(users.username, 'undone'))).toEqual([])
    await expectWholePool(2000)
  })

  it('does not throw its connection away over a refusal of Postgres', async () => {
    const pids: number[] = []
    for (let n = 0; n < 3; n++) {
      await withTransaction(db, async (_tx, client) => {
        pids.push(await pidOf(client))
        await client.query('SELECT 1 / 0')
      }).catch(() => undefined)
    }
    expect(new Set(pids).size).toBe(1)
  })

  it('is in doubt, not undone, when the answer to its COMMIT is lost', async () => {
    network.cutReplies(/COMMIT/, 1)
    const work = withTransaction(db, (tx) => tx.insert(users).values({ username: 'committed', credits: 0 }))
    const error = await work.then(undefined, (thrown: unknown) => thrown)
    expect(outcomeUnknown(error)).toBe(true)
    expect(await db.orm.select().from(users).where(eq(users.username, 'committed'))).toHaveLength(1)
    await expectWholePool(2000)
  })
})

describe('an error of Postgres', () => {
  it('is known by its code and constraint through Drizzle’s wrapping, and is no doubt', async () => {
    await db.orm.insert(users).values({ username: 'twice', credits: 0 })
    const error = await db.orm
      .insert(users)
      .values({ username: 'twice', credits: 0 })
      .then(undefined, (thrown: unknown) => thrown)
    expect(sqlState(error)).toBe('23505')
    expect(violatedConstraint(error)).toMatch(/username/)
    expect(outcomeUnknown(error)).toBe(false)
  })

  it('does not come of big numbers: they are numbers, also without Drizzle', async () => {
    const { rows } = await db.pool.query('SELECT 4294967295::bigint AS seed, count(*) AS n FROM users WHERE false')
    expect(rows).toEqual([{ seed: 4294967295, n: 0 }])
  })
})
