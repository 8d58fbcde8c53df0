import { batched } from '../lib/batch.js'
import { defineScript, type RedisAvailability, redisAvailability } from './client.js'
import { keyNamer, perSlot, type RedisClient } from './cluster.js'

/** A counter over the last `windowMs`: only accepted events count. */
export interface SlidingWindow {
  /** Counts an event if fewer than `max` are there. `current`: with this one; `ttlMs`: until the oldest leaves. */
  hit(key: string, windowMs: number, max: number): Promise<{ readonly current: number; readonly ttlMs: number }>
}

interface Hit {
  readonly key: string
  readonly windowMs: number
  readonly max: number
}

// Redis's own clock, so that all replicas agree; one script, so that no key is left without expiry. After the clock was
// set back, events of the future would count for too long, so they are deleted. Arguments per key: its window and limit.
const SLIDE = `
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local counts = {}
  for i, key in ipairs(KEYS) do
    local window, max = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
    redis.call('ZREMRANGEBYSCORE', key, '(' .. now, '+inf')
    local n = redis.call('ZCARD', key)
    if n < max then
      redis.call('ZADD', key, now, t[1] .. '-' .. t[2] .. '-' .. n)
      redis.call('PEXPIRE', key, window)
    end
    local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    counts[i] = { n + 1, oldest[2] + window - now }
  end
  return counts`

/** Counts in Redis and in this process, which counts alone while Redis is down, so that limits hold. */
export function redisSlidingWindow(
  redis: RedisClient,
  prefix: string,
  availability: RedisAvailability = redisAvailability(),
): SlidingWindow {
  const tallyOf = createTallies()
  const slide = defineScript(redis, 'slide', SLIDE)
  const nameKey = keyNamer(redis, prefix)
  // Requests that come in at once share a command.
  const hitInRedis = batched((hits: readonly Hit[]) =>
    perSlot(
      hits,
      ({ key }) => nameKey(key),
      async (keys, its) => {
        const limits = its.flatMap(({ windowMs, max }) => [windowMs, max])
        return (await availability.run(() => slide(keys, ...limits))) as [current: number, ttlMs: number][]
      },
    ),
  )
  return {
    async hit(key, windowMs, max) {
      const at = performance.now()
      const tally = tallyOf(key, windowMs, at)
      // Redis does not count what this process accepted during an outage.
      if (acceptedSince(at - windowMs, tally) >= max) return count(tally, max, at)
      try {
        const [current, ttlMs] = await hitInRedis({ key, windowMs, max })
        // The time before the command: an event must not count here for longer than in Redis.
        if (current <= max) tally.accepted.push(at)
        tally.ofOthers = Math.max(0, Math.min(current, max) - tally.accepted.length)
        tally.syncedAt = at
        return { current, ttlMs }
      } catch {
        return count(tally, max, performance.now())
      }
    },
  }
}

/** Counts in this process: one-machine mode. */
export function localSlidingWindow(now: () => number = () => performance.now()): SlidingWindow {
  const tallyOf = createTallies()
  return {
    async hit(key, windowMs, max) {
      const at = now()
      return count(tallyOf(key, windowMs, at), max, at)
    },
  }
}

/** What this process knows of a key. */
interface Tally {
  readonly windowMs: number
  /** When this process accepted, the oldest first. */
  readonly accepted: number[]
  /** How many events of other processes Redis had counted at `syncedAt`. */
  ofOthers: number
  syncedAt: number
  usedAt: number
}

const SWEEP_EVERY = 1000

function createTallies(): (key: string, windowMs: number, at: number) => Tally {
  const tallies = new Map<string, Tally>()
  let uses = 0
  const sweep = (at: number) => {
    for (const [key, { usedAt, windowMs }] of tallies) if (usedAt <= at - windowMs) tallies.delete(key)
  }
  return (key, windowMs, at) => {
    if (++uses % SWEEP_EVERY === 0) sweep(at)
    const tally = tallies.get(key) ?? { windowMs, accepted: [], ofOthers: 0, syncedAt: at, usedAt: at }
    tally.usedAt = at
    tallies.set(key, tally)
    return tally
  }
}

function acceptedSince(start: number, { accepted }: Tally): number {
  while (accepted[0] !== undefined && accepted[0] <= start) accepted.shift()
  return accepted.length
}

function count(tally: Tally, max: number, at: number): { current: number; ttlMs: number } {
  const { accepted, windowMs, syncedAt } = tally
  const ofOthers = syncedAt > at - windowMs ? tally.ofOthers : 0
  const current = Math.min(acceptedSince(at - windowMs, tally) + ofOthers, max) + 1
  if (current <= max) accepted.push(at)
  const oldest = Math.min(accepted[0] ?? at, ofOthers > 0 ? syncedAt : at)
  // In this order rounding leaves the first event's wait exactly the window.
  return { current, ttlMs: windowMs - (at - oldest) }
}
