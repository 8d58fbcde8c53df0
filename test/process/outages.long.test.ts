import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseConfig } from '../../src/process/config.js'
import { createLogger } from '../../src/process/logger.js'
import { startServer } from '../../src/process/start-server.js'
import { startOwnRedis } from '../redis/own-redis.js'
import { call, expectPersonalError, PROMPT } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { freePort } from '../support/free-port.js'
import { givenUser } from '../support/givens.js'
import { givenStorage } from '../support/image-storage.js'
import { createTestDatabase, redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'

interface Line {
  readonly level: number
  readonly msg: string
  readonly reason?: string
  readonly dependency?: string
}

/** A server of this process, and what it logs. */
async function startLoggedServer(env: Record<string, string>) {
  const lines: Line[] = []
  const log = createLogger('info', 'test', undefined, { write: (line) => void lines.push(JSON.parse(line)) })
  const storage = await givenStorage()
  const config = { ...parseConfig({ BASE_URL: 'http://easel.test', ...storage.env, ...env }), port: 0 }
  const server = await startServer(config, log, { namespace: `t${randomBytes(6).toString('hex')}` })
  onTestFinished(async () => {
    await server.stop()
    await storage.remove()
  })
  // Not those of its start, when a busy machine may be slow to connect.
  const from = lines.length
  return {
    url: server.url,
    told: (msg: string) => until(() => lines.slice(from).find((line) => line.msg === msg), `the line "${msg}"`),
    complaints: () => lines.slice(from).filter(({ level }) => level >= 40),
  }
}

describe('an outage', () => {
  it.skipIf(!redisAvailable)(
    'of Redis is logged as one error with Redis’s own words, and one line at its end',
    async () => {
      const redis = await startOwnRedis()
      onTestFinished(() => redis.kill())
      const { url } = await createTestDatabase()
      const server = await startLoggedServer({ DATABASE_URL: url, REDIS_URL: redis.url })
      const admin = new Redis(redis.url)
      onTestFinished(() => admin.disconnect())
      await admin.config('SET', 'requirepass', 'changed')
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await server.told('redis is away')
      // Each of the server's connections is opened anew twice a second, and refused.
      const opened = async () => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1])
      const before = await opened()
      await until(async () => (await opened()) > before + 6, 'more refusals')
      await admin.config('SET', 'requirepass', '')
      await server.told('redis is back')
      expect(server.complaints()).toEqual([
        expect.objectContaining({ level: 50, dependency: 'redis', reason: expect.stringContaining('NOAUTH') }),
      ])
    },
  )

  it('of Postgres is logged as one error, whatever fails with it, and one line at its end', async () => {
    const { url } = await createTestDatabase()
    const proxy = await startFaultProxy(url)
    onTestFinished(() => proxy.close())
    const server = await startLoggedServer({
      DATABASE_URL: proxy.through(url),
      ...(redisAvailable && { REDIS_URL: await redisUrl() }),
    })
    await proxy.refuse()
    await server.told('postgres is away')
    for (let n = 0; n < 5; n++) expect((await fetch(`${server.url}/ready`)).status).toBe(503)
    await proxy.pass()
    await server.told('postgres is back')
    // One is cut first, and another may still answer at that moment.
    const [first, ...others] = server.complaints()
    expect(first?.msg === 'a connection to postgres was lost' ? others : [first, ...others]).toEqual([
      expect.objectContaining({ level: 50, dependency: 'postgres', reason: expect.stringContaining('ECONNREFUSED') }),
    ])
  })
})

describe('a Postgres that answers, but', () => {
  /** A server over a database of its own, and what changes that database. */
  async function givenServer() {
    const { url } = await createTestDatabase()
    const name = new URL(url).pathname.slice(1)
    const admin = new pg.Client(Object.assign(new URL(url), { pathname: '/postgres' }).href)
    await admin.connect()
    onTestFinished(() => admin.end())
    const db = patientDatabase(url, 1)
    onTestFinished(() => db.pool.end())
    const user = await givenUser(db)
    const metricsPort = await freePort()
    const server = await startLoggedServer({ DATABASE_URL: url, METRICS_PORT: `${metricsPort}` })
    return {
      ...server,
      name,
      db,
      admin,
      cutAll: () => admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]),
      submit: () => call(server.url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT }),
      ready: () => fetch(`${server.url}/ready`).then(({ status }) => status),
      checks: async () => (await (await fetch(`http://127.0.0.1:${metricsPort}/ready`)).json()).checks,
    }
  }

  const READ_ONLY = 'default_transaction_read_only'
  const refuseInserts = (state: string) => `
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'it refuses' USING ERRCODE = '${state}'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON generations EXECUTE FUNCTION refuse()`

  it.each<[string, RegExp, RegExp, (it: Server) => Promise<unknown>, (it: Server) => Promise<unknown>]>([
    [
      'is read-only',
      /read-only transaction/,
      /^Postgres is read-only: /,
      ({ admin, name, cutAll }) => admin.query(`ALTER DATABASE ${name} SET ${READ_ONLY} = on`).then(cutAll),
      // The connections that are open keep it.
      ({ admin, name }) => admin.query(`ALTER DATABASE ${name} RESET ${READ_ONLY}`),
    ],
    [
      'has a full disk',
      /it refuses/,
      /^The disk of Postgres is full: /,
      ({ db }) => db.pool.query(refuseInserts('53100')),
      ({ db }) => db.pool.query('DROP TRIGGER refuse ON generations'),
    ],
    [
      'accepts no connection',
      /not currently accepting connections/,
      /^Postgres cannot work now: database .* is not currently accepting connections\.$/,
      ({ admin, name, cutAll }) => admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`).then(cutAll),
      ({ admin, name }) => admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`),
    ],
  ])('%s is an outage: 503, not ready, one error in the log, and one line at its end', async (...given) => {
    const [, reason, sentence, breaks, mends] = given
    const server = await givenServer()
    await until(async () => (await server.ready()) === 200, 'readiness')
    await breaks(server)
    await until(async () => (await server.submit()).status === 503, 'a refused submit')
    for (let n = 0; n < 5; n++) {
      const refused = await server.submit()
      expectPersonalError(refused, 503, /temporarily unavailable/)
      expect(refused.headers.get('retry-after')).toBe('5')
    }
    await until(async () => (await server.ready()) === 503, 'a server that is not ready')
    expect((await server.checks()).postgres).toMatch(sentence)
    await server.told('postgres is away')
    await mends(server)
    await server.told('postgres is back')
    expect((await server.submit()).status).toBe(201)
    await until(async () => (await server.ready()) === 200, 'readiness')
    // Apart from warnings of connections that were cut, and of the queue's own.
    expect(server.complaints().filter(({ level }) => level === 50)).toEqual([
      expect.objectContaining({ level: 50, dependency: 'postgres', reason: expect.stringMatching(reason) }),
    ])
  })

  it.each([
    ['42501', /^Postgres refuses statements: The user in DATABASE_URL has no right to that: /],
    ['XX002', /^Postgres refuses statements: it refuses; look into its log\.$/],
  ])('refuses only some statements with %s stays ready, for the others, and says so', async (state, sentence) => {
    const server = await givenServer()
    await server.db.pool.query(refuseInserts(state))
    expect((await server.submit()).status).toBe(503)
    await until(async () => sentence.test((await server.checks()).statements), 'the sentence')
    expect(await server.ready()).toBe(200)
    await server.db.pool.query('DROP TRIGGER refuse ON generations')
    await until(async () => (await server.checks()).statements === 'ok', 'its end')
  })

  type Server = Awaited<ReturnType<typeof givenServer>>
})
