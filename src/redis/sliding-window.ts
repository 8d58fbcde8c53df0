import type { Redis } from 'ioredis'
import { type RedisAvailability, redisAvailability } from './availability.js'

/** A counter over the last `windowMs`: what was accepted counts, what was refused does not. */
export interface SlidingWindow {
  /**
   * Counts one event if fewer than `max` lie within the window.
   * @returns current: how many there are with this one (max + 1 when refused); ttlMs: until the oldest leaves
   */
  hit(key: string, windowMs: number, max: number): Promise<{ readonly current: number; readonly ttlMs: number }>
}

// Redis's own clock, so that all replicas agree; one script, so that no key is ever left without its expiry. What lies
// ahead of a clock that was set back would count until it comes there, so it is forgotten.
const SLIDE = `
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local window, max = tonumber(ARGV[1]), tonumber(ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')
  local n = redis.call('ZCARD', KEYS[1])
  if n < max then
    redis.call('ZADD', KEYS[1], now, t[1] .. '-' .. t[2] .. '-' .. n)
    redis.call('PEXPIRE', KEYS[1], window)
  end
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return { n + 1, oldest[2] + window - now }`

/** Counts in Redis; while Redis is away, in this process, so that an outage neither blocks everyone nor lifts the limit. */
export function redisSlidingWindow(
  redis: Redis,
  prefix: string,
  availability: RedisAvailability = redisAvailability(),
): SlidingWindow {
  const local = localSlidingWindow()
  redis.defineCommand('easelSlide', { numberOfKeys: 1, lua: SLIDE })
  const slide = (redis as unknown as { easelSlide(key: string, ...args: number[]): Promise<[number, number]> })
    .easelSlide
  return {
    async hit(key, windowMs, max) {
      try {
        const [current, ttlMs] = await availability.run(() => slide.call(redis, `${prefix}:${key}`, windowMs, max))
        return { current, ttlMs: Number(ttlMs) }
      } catch {
        return local.hit(key, windowMs, max)
      }
    },
  }
}

const SWEEP_EVERY = 1000

/** Counts in this process: one-machine mode, and the net under Redis. */
export function localSlidingWindow(now: () => number = () => performance.now()): SlidingWindow {
  const windows = new Map<string, { accepted: number[]; windowMs: number }>()
  let hits = 0
  const sweep = () => {
    for (const [key, { accepted, windowMs }] of windows)
      if ((accepted.at(-1) ?? 0) <= now() - windowMs) windows.delete(key)
  }
  return {
    async hit(key, windowMs, max) {
      if (++hits % SWEEP_EVERY === 0) sweep()
      const at = now()
      const accepted = (windows.get(key)?.accepted ?? []).filter((time) => time > at - windowMs)
      const current = accepted.length + 1
      if (current <= max) accepted.push(at)
      windows.set(key, { accepted, windowMs })
      return { current, ttlMs: (accepted[0] ?? at) + windowMs - at }
    },
  }
}
