import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../src/db/client.js'
import { postgresClient } from '../../src/db/hosts.js'
import { migrateDatabase } from '../../src/db/migrations/migrate.js'
import { type ReplicaReads, replicaReads } from '../../src/db/read-replica.js'
import { promote } from '../programs/chaos/standby.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { givenUser } from '../support/givens.js'
import { startService } from '../support/service.js'
import { until } from '../support/until.js'
import { givenStandby, type Replicated } from './given-standby.js'

let pair: Replicated
let db: Database
let reads: ReplicaReads
let told: string[]

beforeAll(async () => {
  pair = await givenStandby()
  db = patientDatabase(pair.primary.url, 4)
  await db.pool.query('CREATE TABLE notes (id integer PRIMARY KEY, text text)')
})
afterAll(async () => {
  await db.pool.end()
  await pair.stop()
})
beforeEach(() => {
  told = []
  reads = replicaReads(db, pair.url(['standby'], 'any'), {
    onAway: ({ message }) => told.push(message),
    onAnswer: () => told.push('answered'),
  })
})
afterEach(() => reads.end())

const onStandby = async (text: string) => {
  const client = postgresClient(pair.standby.url)
  await client.connect()
  return client.query(text).finally(() => client.end())
}
const answering = async () =>
  (await reads.pool.query({ text: `SELECT current_setting('port')::int AS port` })).rows[0].port

/** On a busy machine it may be late at first. */
const untilReplica = () => until(async () => (await answering()) === pair.standby.port, 'answers of the replica')

const follower = async (url: string): Promise<{ n: number }[]> => {
  const client = postgresClient(url)
  await client.connect()
  try {
    return (await client.query('SELECT count(*)::int AS n FROM notes')).rows
  } catch {
    return [] // not there yet
  } finally {
    await client.end()
  }
}

it('reads are answered by the replica, also those of Drizzle', async () => {
  await untilReplica()
  const { rows } = await reads.orm.execute(`SELECT pg_is_in_recovery() AS standby`)
  expect(rows).toEqual([{ standby: true }])
})

it('a read finds every row that was written before it, with the replica or without', async () => {
  const byReplica = () => told.filter((it) => it === 'answered').length
  for (let n = 0; n < 200 || byReplica() < 20; n++) {
    await db.pool.query('INSERT INTO notes VALUES ($1)', [n])
    const { rows } = await reads.pool.query({ text: 'SELECT count(*)::int AS n FROM notes' })
    expect(rows[0].n).toBe(n + 1)
  }
})

it('a replica that no longer replays what it gets is left alone, and used again when it does', async () => {
  await untilReplica()
  await onStandby('SELECT pg_wal_replay_pause()')
  onTestFinished(async () => void (await onStandby('SELECT pg_wal_replay_resume()')))
  await db.pool.query(`INSERT INTO notes VALUES (1000, 'not on the replica')`)
  expect((await reads.pool.query({ text: 'SELECT text FROM notes WHERE id = 1000' })).rows).toEqual([
    { text: 'not on the replica' },
  ])
  expect(told.at(-1)).toBe('the replica is behind the primary')
  expect(await answering()).toBe(pair.primary.port)
  await onStandby('SELECT pg_wal_replay_resume()')
  await untilReplica()
})

describe('nobody sees that the replica', () => {
  it.each<[string, () => unknown, () => unknown]>([
    [
      'refuses connections',
      () => pair.networks.standby.target(1),
      () => pair.networks.standby.target(pair.standby.port),
    ],
    ['hangs', () => pair.networks.standby.stall(), () => pair.networks.standby.flow()],
  ])('%s', async (_how, begin, end) => {
    await untilReplica()
    begin()
    pair.networks.standby.cut()
    expect(await answering()).toBe(pair.primary.port)
    end()
    await untilReplica()
  })

  it('cancels a statement that stands in the way of what it replays', async () => {
    await onStandby(`ALTER SYSTEM SET max_standby_streaming_delay = '0'`)
    await onStandby('SELECT pg_reload_conf()')
    const text = `SELECT current_setting('port')::int AS port, pg_is_in_recovery() AND (SELECT pg_sleep(1.5) IS NULL FROM notes LIMIT 1) AS slept`
    const begin = () => {
      const begun = { ended: false, answer: reads.pool.query({ text }) }
      void begun.answer.then(() => Object.assign(begun, { ended: true }))
      return begun
    }
    const sleeping = `SELECT 1 / count(*)::int FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1.5)%' AND wait_event = 'PgSleep'`
    await until(async () => {
      let read = begin()
      await until(() => {
        if (read.ended) read = begin()
        return onStandby(sleeping).then(
          () => true,
          () => false,
        )
      }, 'the read on the replica')
      await db.pool.query('TRUNCATE notes')
      const { rows } = await read.answer
      // On a busy machine the read may end before the replica knows of the TRUNCATE.
      if (!/conflict with recovery/.test(told.at(-1) ?? '')) return false
      expect(rows).toMatchObject([{ port: pair.primary.port }])
      return true
    }, 'a read that stands in the way')
  })
})

it('what is no standby is never read from', async () => {
  await reads.end()
  const others = pair.url(['nobody', 'primary'], 'prefer-standby')
  reads = replicaReads(db, others, { onAway: ({ message }) => told.push(message), onAnswer: () => undefined })
  expect(await answering()).toBe(pair.primary.port)
  expect(told).toEqual(['DATABASE_READ_URL leads to no standby'])
})

it('a standby that follows a primary which was replaced is never read from', async () => {
  const other = await givenStandby()
  onTestFinished(() => other.stop())
  const left = await other.follow()
  const before = patientDatabase(other.primary.url, 1)
  onTestFinished(() => before.pool.end())
  await before.pool.query('CREATE TABLE notes (id integer PRIMARY KEY, text text)')
  await until(async () => (await follower(other.standby.url)).length > 0, 'the table on the standby')
  await promote(other.standby)
  // Of these the new primary has none, and its own log is shorter.
  await before.pool.query(`INSERT INTO notes SELECT n, repeat('x', 100) FROM generate_series(1, 10000) n`)
  await until(async () => (await follower(left.url))[0]?.n === 10_000, 'the rows on what is left behind')
  const after = patientDatabase(other.standby.url, 1)
  onTestFinished(() => after.pool.end())
  const itsReads = replicaReads(after, left.url, {
    onAway: ({ message }) => told.push(message),
    onAnswer: () => undefined,
  })
  onTestFinished(() => itsReads.end())
  expect((await itsReads.pool.query({ text: 'SELECT count(*)::int AS n FROM notes' })).rows).toEqual([{ n: 0 }])
  expect(told).toEqual(['the replica is behind the primary'])
})

it('a server whose replica lets nobody in starts, and logs which variable to correct', async () => {
  await migrateDatabase(pair.primary.url)
  const lines: string[] = []
  const service = await startService({
    log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
    env: {
      DATABASE_URL: pair.primary.url,
      DATABASE_LISTEN_URL: pair.primary.url,
      DATABASE_READ_URL: Object.assign(new URL(pair.standby.url), { pathname: '/nowhere' }).href,
    },
  })
  onTestFinished(() => service.close())
  const user = await givenUser(db)
  expect((await call(service.url, 'GET', '/api/v1/images', { key: user.key })).status).toBe(200)
  const sentence = /database in DATABASE_READ_URL does not exist: create it, or correct DATABASE_READ_URL/
  await until(() => lines.some((line) => sentence.test(line)), 'the line')
})

it('a server answers lists and statistics from the replica, and what was done a moment ago is in them', async () => {
  await migrateDatabase(pair.primary.url)
  const service = await startService({
    worker: true,
    env: {
      RATE_LIMIT_MAX: '1000',
      DATABASE_URL: pair.primary.url,
      DATABASE_LISTEN_URL: pair.primary.url,
      DATABASE_READ_URL: pair.url(['standby', 'primary'], 'prefer-standby'),
    },
  })
  onTestFinished(() => service.close())
  const user = await givenUser(db)
  const get = async (path: string) => (await call(service.url, 'GET', path, { key: user.key })).body
  const drawn = async () => {
    const { body } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT })
    const listed = await get('/api/v1/generations')
    expect(listed.generations.map(({ id }: { id: string }) => id)).toContain(body.id)
    await endOf(service, user, body.id)
    return get('/api/v1/images')
  }
  expect((await drawn()).images).toHaveLength(1)
  const asked = `SELECT FROM pg_stat_activity WHERE application_name = 'easel' AND query ~ 'generations|months'`
  await until(async () => {
    await get('/api/v1/images')
    return (await onStandby(asked)).rowCount
  }, 'a list of the replica')
  await onStandby('SELECT pg_wal_replay_pause()')
  onTestFinished(async () => void (await onStandby('SELECT pg_wal_replay_resume()')))
  expect((await drawn()).images).toHaveLength(2)
})
