import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFailFastRedis, whenReady } from '../../src/redis/client.js'
import { localSlidingWindow, redisSlidingWindow, type SlidingWindow } from '../../src/redis/sliding-window.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { redisAvailable, singleRedisUrl } from '../support/services.js'
import { openRedis } from '../support/test-redis.js'
import { until } from '../support/until.js'

/** So long that no machine is too slow for it: where a test needs time to pass, it moves what is stored. */
const WINDOW_MS = 600_000
const newKey = () => `k${randomBytes(6).toString('hex')}`
let redis: Redis | undefined

/** As servers do: it fails when Redis does not answer for a moment. */
async function openFailFast(url: string): Promise<Redis> {
  const client = createFailFastRedis(url, () => undefined) as Redis
  await whenReady(client)
  return client
}

beforeAll(async () => {
  if (redisAvailable) redis = (await openRedis(await singleRedisUrl())) as Redis
})
afterAll(() => redis?.disconnect())

/** A window and its clock. */
interface Timed extends SlidingWindow {
  pass(ms: number): Promise<void>
}

/** Time passes by making older what Redis has counted; then another process asks, which has counted nothing itself. */
function openInRedis(): Timed {
  const client = redis as Redis
  const prefix = newKey()
  let window = redisSlidingWindow(client, prefix)
  return {
    hit: (...given) => window.hit(...given),
    async pass(ms) {
      for (const key of await client.keys(`${prefix}:*`))
        for (const member of await client.zrange(key, '0', '-1')) await client.zincrby(key, -ms, member)
      window = redisSlidingWindow(client, prefix)
    },
  }
}

function openHere(): Timed {
  let now = 0
  const { hit } = localSlidingWindow(() => now)
  return {
    hit,
    async pass(ms) {
      now += ms
    },
  }
}

const KINDS: [string, boolean, () => Timed][] = [
  ['in Redis', redisAvailable, openInRedis],
  ['in this process', true, openHere],
]

for (const [kind, available, open] of KINDS) {
  describe.skipIf(!available)(`a sliding window ${kind}`, () => {
    it('counts up to the limit and then refuses', async () => {
      const window = open()
      const hits = []
      for (let n = 0; n < 5; n++) hits.push(await window.hit('k', WINDOW_MS, 3))
      expect(hits.map(({ current }) => current)).toEqual([1, 2, 3, 4, 4])
    })

    it('says how long it takes until the oldest event leaves', async () => {
      const window = open()
      await window.hit('k', WINDOW_MS, 2)
      await window.pass(WINDOW_MS / 2)
      const { ttlMs } = await window.hit('k', WINDOW_MS, 2)
      expect(ttlMs).toBeLessThanOrEqual(WINDOW_MS / 2)
      expect(ttlMs).toBeGreaterThan(WINDOW_MS / 4)
    })

    it('keeps its keys apart', async () => {
      const window = open()
      await window.hit('a', WINDOW_MS, 1)
      expect(await window.hit('a', WINDOW_MS, 1)).toMatchObject({ current: 2 })
      expect(await window.hit('b', WINDOW_MS, 1)).toMatchObject({ current: 1 })
    })

    it('counts each of many at once by its own limit and window', async () => {
      const window = open()
      const limits = [1, 2, 3, 4]
      const asked = [...limits, ...limits, ...limits].map((max) => ({ max, windowMs: WINDOW_MS * max }))
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
        expect(ttlMs).toBeGreaterThan(windowMs - WINDOW_MS / 2)
      }
    })

    it('accepts no more than the limit of many at once', async () => {
      const window = open()
      const hits = await Promise.all(Array.from({ length: 100 }, () => window.hit('k', WINDOW_MS, 10)))
      expect(hits.filter(({ current }) => current <= 10)).toHaveLength(10)
    })

    it('does not count what it refused: the next event is accepted once the oldest has left', async () => {
      const window = open()
      const isAccepted = async () => (await window.hit('k', WINDOW_MS, 1)).current === 1
      expect(await isAccepted()).toBe(true)
      await window.pass(WINDOW_MS / 2)
      for (let n = 0; n < 3; n++) expect(await isAccepted()).toBe(false)
      await window.pass(WINDOW_MS / 2)
      expect(await isAccepted()).toBe(true)
    })

    it('slides: accepts no more than the limit within any window, wherever it begins', async () => {
      const window = open()
      const accepted: number[] = []
      for (const tries of [1, 2, 5, 5, 5, 5, 5]) {
        let count = 0
        for (let n = 0; n < tries; n++) if ((await window.hit('k', WINDOW_MS, 4)).current <= 4) count++
        accepted.push(count)
        await window.pass(WINDOW_MS / 3)
      }
      // Of any three that follow one another no more than four.
      expect(accepted).toEqual([1, 2, 1, 1, 2, 1, 1])
    })
  })
}

describe.skipIf(!redisAvailable)('a sliding window in Redis', () => {
  it('leaves nothing behind: its key expires with its window', async () => {
    const prefix = newKey()
    await redisSlidingWindow(redis as Redis, prefix).hit('k', 120, 4)
    await until(async () => (await redis?.exists(`${prefix}:k`)) === 0, 'the end of the key')
  })

  it('does not count events of the future, as they are after Redis’s clock was set back', async () => {
    const prefix = newKey()
    const ahead = Date.now() + 3_600_000
    await redis?.zadd(`${prefix}:k`, ahead, 'a', ahead + 1, 'b')
    const hits = []
    for (let n = 0; n < 3; n++) hits.push(await redisSlidingWindow(redis as Redis, prefix).hit('k', WINDOW_MS, 2))
    expect(hits.map(({ current }) => current)).toEqual([1, 2, 3])
    expect(hits[2]?.ttlMs).toBeLessThanOrEqual(WINDOW_MS)
  })

  it('is shared by all processes', async () => {
    const [prefix, other] = [newKey(), await openRedis(await singleRedisUrl())]
    await redisSlidingWindow(redis as Redis, prefix).hit('k', WINDOW_MS, 1)
    expect(await redisSlidingWindow(other, prefix).hit('k', WINDOW_MS, 1)).toMatchObject({ current: 2 })
    other.disconnect()
  })

  it.each(['refuse', 'stall'] as const)(
    'counts in the process while Redis is away (%s), and in Redis again once it is back',
    async (fault) => {
      const proxy = await startFaultProxy(await singleRedisUrl())
      const client = await openFailFast(proxy.through(await singleRedisUrl()))
      const prefix = newKey()
      const window = redisSlidingWindow(client, prefix)
      await window.hit('k', WINDOW_MS, 2)
      await proxy[fault]()
      const hits = await Promise.all(Array.from({ length: 5 }, () => window.hit('k', WINDOW_MS, 2)))
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
      await window.hit(key, WINDOW_MS, 1)
      return (await redis?.exists(`${prefix}:${key}`)) === 1
    }, 'a count in Redis')

  /** A server's window over a Redis that can be taken away from it. */
  async function openServer(prefix: string) {
    const proxy = await startFaultProxy(await singleRedisUrl())
    const client = await openFailFast(proxy.through(await singleRedisUrl()))
    onTestFinished(async () => {
      client.disconnect()
      await proxy.close()
    })
    return { proxy, window: redisSlidingWindow(client, prefix) }
  }

  it.each(['refuse', 'stall'] as const)('does not begin at zero when Redis goes away (%s)', async (fault) => {
    const prefix = newKey()
    const servers = await Promise.all([openServer(prefix), openServer(prefix)])
    const hits = async (each: number) => {
      const all: number[] = []
      for (let n = 0; n < each; n++)
        for (const { window } of servers) all.push((await window.hit('k', WINDOW_MS, 10)).current)
      return all
    }
    expect(await hits(6)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11])
    for (const { proxy } of servers) await proxy[fault]()
    expect(await hits(3)).toEqual(Array(6).fill(11))
  })

  it('forgets what other processes counted once it is older than the window, though Redis stays away', async () => {
    const prefix = newKey()
    const [{ proxy, window }, other] = await Promise.all([openServer(prefix), openServer(prefix)])
    for (let n = 0; n < 2; n++) await other.window.hit('k', WINDOW_MS, 2)
    expect((await window.hit('k', WINDOW_MS, 2)).current).toBe(3)
    await proxy.refuse()
    expect((await window.hit('k', WINDOW_MS, 2)).current).toBe(3)
    const later = performance.now() + WINDOW_MS
    vi.spyOn(performance, 'now').mockImplementation(() => later)
    onTestFinished(() => void vi.restoreAllMocks())
    expect((await window.hit('k', WINDOW_MS, 2)).current).toBe(1)
  })

  it('forgets nothing that was accepted while Redis was away', async () => {
    const prefix = newKey()
    const { proxy, window } = await openServer(prefix)
    await proxy.refuse()
    for (let n = 0; n < 2; n++) await window.hit('k', WINDOW_MS, 2)
    await proxy.pass()
    await untilCounted(window, prefix)
    expect((await window.hit('k', WINDOW_MS, 2)).current).toBe(3)
    expect(await redis?.exists(`${prefix}:k`)).toBe(0)
  })
})
