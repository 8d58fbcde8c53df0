import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { newGenerationId } from '../../src/core/generations/generation.js'
import { parseConfig } from '../../src/process/config.js'
import { openFoundation } from '../../src/process/foundation.js'
import { webhookJobs } from '../../src/queue/queues.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { silentLog } from '../support/service.js'
import { createTestDatabase, redisAvailable, redisUrl } from '../support/services.js'
import { keysLike, openRedisIfAny } from '../support/test-redis.js'
import { until } from '../support/until.js'
import { givenQueue } from './given-queue.js'

const redis = await openRedisIfAny()
afterAll(() => redis?.disconnect())

describe.each([
  ['Redis', 'redis'],
  ['Postgres', 'postgres'],
] as const)('a delivery on %s', (_name, kind) => {
  const on = it.skipIf(kind === 'redis' && !redisAvailable)
  const given = async () => givenQueue(kind, kind === 'redis' ? await redisUrl() : (await createTestDatabase()).url)

  on('rings at another listener after the one that took it has died', async () => {
    const { ring, listen, takeAndDie, heardOut } = await given()
    await ring('gen_a')
    await takeAndDie()
    let rung = 0
    listen(async () => void rung++)
    await until(() => rung > 0, 'the ring')
    await heardOut()
    expect(rung).toBe(1)
  })

  on('rings again for an attempt whose first ring failed', async () => {
    const { ring, listen, heardOut } = await given()
    let rung = 0
    listen(async () => {
      rung++
      throw new Error('deaf')
    })
    await ring('gen_a')
    await until(() => rung > 0, 'the first ring')
    await heardOut()
    const before = rung
    await ring('gen_a')
    await until(() => rung > before, 'the second ring')
  })

  on('can be made for every generation ID and every attempt number', async () => {
    const { queue, inspected, ring } = await given()
    await ring('gen_first')
    const deliveries = [1, 2, 10, 4_000_000].map((attempt) => ({ id: newGenerationId(), attempt }))
    expect(await queue.enqueue(deliveries)).toBe(true)
    const waiting = await inspected.getJobs(['waiting'])
    expect(waiting.map(({ id }) => id).sort()).toEqual(
      ['gen_first-1', ...deliveries.map(({ id, attempt }) => `${id}-${attempt}`)].sort(),
    )
  })

  on('is made whole, however its delay was reckoned', async () => {
    const faults: Error[] = []
    const jobs = webhookJobs((await given()).connection(false), (error) => faults.push(error))
    onTestFinished(() => jobs.close())
    await until(async () => (await jobs.enqueue({ seq: 1, attempts: 1 }, 5123.4567)) || faults.length > 0, 'the job')
    expect(faults).toEqual([])
  })

  on('carries no data', async () => {
    const { inspected, ring } = await given()
    await ring('gen_a')
    expect((await inspected.getJob('gen_a-1'))?.data).toEqual({})
  })
})

/** Ends connections that ask for options at their login, as PgBouncer does. */
async function startPickyProxy(url: string) {
  const { hostname, port } = new URL(url)
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
    client.once('data', (login) => {
      if (login.includes('options\0')) return client.destroy()
      upstream.write(login)
      client.pipe(upstream).pipe(client)
    })
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return Object.assign(new URL(url), { port: String((server.address() as AddressInfo).port) }).href
}

describe('a delivery on Postgres', () => {
  it('rings through a pooler that takes no options at a login', async () => {
    const { url } = await createTestDatabase()
    const { ring, listen, heardOut } = givenQueue('postgres', await startPickyProxy(url))
    let rung = 0
    listen(async () => void rung++)
    await ring('gen_a')
    await until(() => rung > 0, 'the ring')
    await heardOut()
  })

  it('takes the way around a pooler, as notices do', async () => {
    const { url } = await createTestDatabase()
    const around = await startFaultProxy(url)
    onTestFinished(() => around.close())
    const config = parseConfig({ DATABASE_URL: url, DATABASE_LISTEN_URL: around.through(url) })
    const foundation = await openFoundation(config, silentLog(), { maxConnections: 2 })
    onTestFinished(() => foundation.close())
    const enqueue = (id: string) => foundation.queue.enqueue([{ id, attempt: 1 }])
    await until(() => enqueue('gen_a'), 'the queue')
    await around.refuse()
    expect(await enqueue('gen_b')).toBe(false)
    expect((await foundation.db.pool.query('SELECT 1')).rowCount).toBe(1)
    await around.pass()
    await until(() => enqueue('gen_b'), 'the queue')
  })

  it('rings as soon as Postgres is back if both ends were opened while it was away', async () => {
    const { url } = await createTestDatabase()
    const proxy = await startFaultProxy(url)
    onTestFinished(() => proxy.close())
    await proxy.refuse()
    const { queue, ring, listen } = givenQueue('postgres', proxy.through(url))
    let rung = 0
    listen(async () => void rung++)
    expect(await queue.enqueue([{ id: 'gen_a', attempt: 1 }])).toBe(false)
    await proxy.pass()
    await ring('gen_a')
    await until(() => rung > 0, 'the ring')
  })

  const endConnections = async (url: string) => {
    const admin = new pg.Client(url)
    await admin.connect()
    const ended = await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    )
    await admin.end()
    return ended.rowCount
  }

  it('still rings after Postgres has ended every connection', async () => {
    const { url } = await createTestDatabase()
    const { ring, listen } = givenQueue('postgres', url)
    let rung = 0
    listen(async () => void rung++)
    await ring('gen_a')
    await until(() => rung > 0, 'the first ring')
    expect(await endConnections(url)).toBeGreaterThan(2)
    const before = rung
    await ring('gen_b')
    await until(() => rung > before, 'the second ring')
  })

  // BullMQ removes the listeners of a connection that it closes: an error of that connection then would be nobody's.
  it('throws no error that nobody catches if its listener closes while Postgres ends the connections', async () => {
    const { url } = await createTestDatabase()
    const { ring, listen } = givenQueue('postgres', url)
    const nobodys: unknown[] = []
    const note = (error: unknown) => nobodys.push(error)
    process.prependListener('uncaughtException', note)
    onTestFinished(() => void process.removeListener('uncaughtException', note))
    for (let round = 0; round < 5; round++) {
      let rung = 0
      const listener = listen(async () => void rung++)
      await ring(`gen_${round}`)
      await until(() => rung > 0, 'the ring')
      await Promise.all([endConnections(url), listener.close(1000)])
    }
    expect(nobodys).toEqual([])
  })
})

describe.skipIf(!redisAvailable)('a delivery on Redis', () => {
  it('still rings after it has stalled fifty times, where BullMQ by itself would give up', async () => {
    const { ring, listen, takeAndDie, prefix } = givenQueue('redis', await redisUrl())
    await ring('gen_a')
    await takeAndDie()
    await redis?.hset(`${prefix}:generations:gen_a-1`, 'stc', 50)
    let rung = 0
    listen(async () => void rung++)
    await until(() => rung > 0, 'the ring')
  })

  it('leaves no key in Redis after it was heard, whether its job succeeded or failed', async () => {
    const { ring, listen, heardOut, prefix } = givenQueue('redis', await redisUrl())
    let rung = 0
    listen(async () => {
      if (++rung % 2) throw new Error('deaf')
    })
    await ring('gen_a', 'gen_b', 'gen_c', 'gen_d')
    await until(() => rung >= 4, 'all rings')
    await heardOut()
    const keys = redis && (await keysLike(redis, `*${prefix}*`))
    expect(keys).toContain(`${prefix}:generations:meta`)
    // One hash tag in all keys, so that a Redis of several shards keeps them together.
    expect(keys?.filter((key) => !key.startsWith(`${prefix}:generations:`))).toEqual([])
    expect(keys?.filter((key) => key.includes('gen_'))).toEqual([])
  })
})
