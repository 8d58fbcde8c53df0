import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { newGenerationId } from '../../src/generation/generation.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { createTestDatabase, redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'
import { givenQueue } from './given-queue.js'

const redis = redisAvailable ? new Redis(await redisUrl()) : undefined
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

  on('carries no data', async () => {
    const { inspected, ring } = await given()
    await ring('gen_a')
    expect((await inspected.getJob('gen_a-1'))?.data).toEqual({})
  })
})

describe('a delivery on Postgres', () => {
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
    const keys = await redis?.keys(`*${prefix}*`)
    expect(keys).toContain(`${prefix}:generations:meta`)
    // One hash tag in all keys, so that a Redis of several shards keeps them together.
    expect(keys?.filter((key) => !key.startsWith(`${prefix}:generations:`))).toEqual([])
    expect(keys?.filter((key) => key.includes('gen_'))).toEqual([])
  })
})
