import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createFailFastRedis, whenReady } from '../../src/redis/client.js'
import { localSlidingWindow, redisSlidingWindow, type SlidingWindow } from '../../src/redis/sliding-window.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'

const WINDOW_MS = 120
const newKey = () => `k${randomBytes(6).toString('hex')}`
let redis: Redis | undefined

async function openRedis(url: string): Promise<Redis> {
  const client = createFailFastRedis(url, () => undefined)
  await whenReady(client)
  return client
}

beforeAll(async () => {
  if (redisAvailable) redis = await openRedis(await redisUrl())
})
afterAll(() => redis?.disconnect())

const KINDS: [string, boolean, () => SlidingWindow][] = [
  ['in Redis', redisAvailable, () => redisSlidingWindow(redis as Redis, newKey())],
  ['in this process', true, () => localSlidingWindow()],
]

for (const [kind, available, open] of KINDS) {
  describe.skipIf(!available)(`a sliding window ${kind}`, () => {
    it('counts up to the limit and then refuses', async () => {
      const window = open()
      const hits = []
      for (let n = 0; n < 5; n++) hits.push(await window.hit('k', 60_000, 3))
      expect(hits.map(({ current }) => current)).toEqual([1, 2, 3, 4, 4])
    })

    it('says how long until the oldest leaves', async () => {
      const window = open()
      const startedAt = performance.now()
      await window.hit('k', 60_000, 2)
      const { ttlMs } = await window.hit('k', 60_000, 2)
      expect(ttlMs).toBeLessThanOrEqual(60_000)
      expect(ttlMs).toBeGreaterThanOrEqual(60_000 - (performance.now() - startedAt) - 1)
    })

    it('keeps its keys apart', async () => {
      const window = open()
      await window.hit('a', 60_000, 1)
      expect(await window.hit('a', 60_000, 1)).toMatchObject({ current: 2 })
      expect(await window.hit('b', 60_000, 1)).toMatchObject({ current: 1 })
    })

    it('counts each of many at once by its own limit and window', async () => {
      const window = open()
      const limits = [1, 2, 3, 4]
      const asked = [...limits, ...limits, ...limits].map((max) => ({ max, windowMs: 60_000 * max }))
      const hits = await Promise.all(
        asked.map(async (it) => ({ ...it, ...(await window.hit(`k${it.max}`, it.windowMs, it.max)) })),
      )
      const countsOf = (limit: number) => hits.filter(({ max }) => max === limit).map(({ current }) => current)
      expect(limits.map(countsOf)).toEqual([
        [1, 2, 2],
        [1, 2, 3],
        [1, 2, 3],
        [1, 2, 3],
      ])
      for (const { ttlMs, windowMs } of hits) {
        expect(ttlMs).toBeLessThanOrEqual(windowMs)
        expect(ttlMs).toBeGreaterThan(windowMs - 5000)
      }
    })

    it('accepts no more than the limit of many at once', async () => {
      const window = open()
      const hits = await Promise.all(Array.from({ length: 100 }, () => window.hit('k', 60_000, 10)))
      expect(hits.filter(({ current }) => current <= 10)).toHaveLength(10)
    })

    it('does not count what it refused: a place is free when the oldest has left, however many came meanwhile', async () => {
      const window = open()
      const firstAt = performance.now()
      await window.hit('k', WINDOW_MS, 1)
      await until(async () => (await window.hit('k', WINDOW_MS, 1)).current === 1, 'a free place')
      expect(performance.now() - firstAt).toBeGreaterThanOrEqual(WINDOW_MS - 1)
    })

    it('slides: never more than the limit within any window, wherever it begins', async () => {
      const window = open()
      const accepted: { before: number; after: number }[] = []
      await until(async () => {
        const before = performance.now()
        if ((await window.hit('k', WINDOW_MS, 4)).current <= 4) accepted.push({ before, after: performance.now() })
        return accepted.length >= 14
      }, 'fourteen accepted')
      for (const [n, { before }] of accepted.entries()) {
        const fourth = accepted[n + 4]
        // Redis counts in whole milliseconds.
        if (fourth) expect(fourth.after - before).toBeGreaterThanOrEqual(WINDOW_MS - 1)
      }
    })
  })
}

describe.skipIf(!redisAvailable)('a sliding window in Redis', () => {
  it('leaves nothing behind: its key goes with its window', async () => {
    const prefix = newKey()
    await redisSlidingWindow(redis as Redis, prefix).hit('k', WINDOW_MS, 4)
    expect(await redis?.pttl(`${prefix}:k`)).toBeLessThanOrEqual(WINDOW_MS)
    await until(async () => (await redis?.exists(`${prefix}:k`)) === 0, 'the end of the key')
  })

  it('counts nothing that lies ahead, as what was counted before its clock was set back does', async () => {
    const prefix = newKey()
    const ahead = Date.now() + 3_600_000
    await redis?.zadd(`${prefix}:k`, ahead, 'a', ahead + 1, 'b')
    const hits = []
    for (let n = 0; n < 3; n++) hits.push(await redisSlidingWindow(redis as Redis, prefix).hit('k', 60_000, 2))
    expect(hits.map(({ current }) => current)).toEqual([1, 2, 3])
    expect(hits[2]?.ttlMs).toBeLessThanOrEqual(60_000)
  })

  it('is shared by every process', async () => {
    const [prefix, other] = [newKey(), await openRedis(await redisUrl())]
    await redisSlidingWindow(redis as Redis, prefix).hit('k', 60_000, 1)
    expect(await redisSlidingWindow(other, prefix).hit('k', 60_000, 1)).toMatchObject({ current: 2 })
    other.disconnect()
  })

  it.each(['refuse', 'stall'] as const)(
    'counts in the process while Redis is away (%s), and in Redis once it is back',
    async (fault) => {
      const proxy = await startFaultProxy(await redisUrl())
      const client = await openRedis(proxy.through(await redisUrl()))
      const prefix = newKey()
      const window = redisSlidingWindow(client, prefix)
      await window.hit('k', 60_000, 2)
      await proxy[fault]()
      const startedAt = performance.now()
      const hits = await Promise.all(Array.from({ length: 5 }, () => window.hit('k', 60_000, 2)))
      expect(performance.now() - startedAt).toBeLessThan(1000)
      expect(hits.map(({ current }) => current).sort()).toEqual([2, 3, 3, 3, 3])
      await proxy.pass()
      await untilCounted(window, prefix)
      client.disconnect()
      await proxy.close()
    },
  )

  /** Resolves once the window counts in Redis again. */
  const untilCounted = (window: SlidingWindow, prefix: string) =>
    until(async () => {
      const key = newKey()
      await window.hit(key, 60_000, 1)
      return (await redis?.exists(`${prefix}:${key}`)) === 1
    }, 'a count in Redis')

  /** A server's window over a Redis that can be taken away from it. */
  async function openServer(prefix: string) {
    const proxy = await startFaultProxy(await redisUrl())
    const client = await openRedis(proxy.through(await redisUrl()))
    onTestFinished(async () => {
      client.disconnect()
      await proxy.close()
    })
    return { proxy, window: redisSlidingWindow(client, prefix) }
  }

  it.each(['refuse', 'stall'] as const)('lets nobody begin anew when Redis goes away (%s)', async (fault) => {
    const prefix = newKey()
    const servers = await Promise.all([openServer(prefix), openServer(prefix)])
    const hits = async (each: number) => {
      const all: number[] = []
      for (let n = 0; n < each; n++)
        for (const { window } of servers) all.push((await window.hit('k', 60_000, 10)).current)
      return all
    }
    expect(await hits(6)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11])
    for (const { proxy } of servers) await proxy[fault]()
    expect(await hits(3)).toEqual(Array(6).fill(11))
  })

  it('forgets nothing that was accepted while Redis was away', async () => {
    const prefix = newKey()
    const { proxy, window } = await openServer(prefix)
    await proxy.refuse()
    for (let n = 0; n < 2; n++) await window.hit('k', 60_000, 2)
    await proxy.pass()
    await untilCounted(window, prefix)
    expect((await window.hit('k', 60_000, 2)).current).toBe(3)
    expect(await redis?.exists(`${prefix}:k`)).toBe(0)
  })
})
