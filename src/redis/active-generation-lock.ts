import type { Redis } from 'ioredis'
import { guardOff } from '../failpoint.js'
import type { ActiveGenerationLock, HeldLock } from '../generation/active-lock.js'
import { type RedisAvailability, redisAvailability } from './availability.js'

/** From submit until the generation is stored; then the lock is kept until past its deadline. */
const SUBMIT_TTL_MS = guardOff('lock.expiry') ? 86_400_000 : 15_000

// Who holds it, and for how long yet, as of one moment.
const SET_IF_FREE = `
  local held = redis.call('GET', KEYS[1])
  if held == false then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return false end
  return { held, redis.call('PTTL', KEYS[1]) }`
const COMPARE_AND_DELETE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
const COMPARE_AND_EXTEND = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`
const COMPARE_AND_SET = `
  local held = redis.call('GET', KEYS[1])
  if held == false or held == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end
  return 0`
/** Of each key its holder and for how long. */
const KEEP = `
  for i, key in ipairs(KEYS) do
    local held, holder = redis.call('GET', key), ARGV[2 * i - 1]
    if held == false or held == holder then redis.call('SET', key, holder, 'PX', ARGV[2 * i]) end
  end`

/**
 * One key per account whose value is the generation's id. Only the holder's id releases it. Redis being away counts as
 * "taken": Postgres's unique index is the guard that counts, this one only refuses early.
 */
export function redisActiveGenerationLock(
  redis: Redis,
  prefix: string,
  availability: RedisAvailability = redisAvailability(),
): ActiveGenerationLock {
  const keyOf = (accountId: string) => `${prefix}:lock:${accountId}`
  const set = (accountId: string, holder: string, generationId: string, ttlMs: number) =>
    availability.run(() => redis.eval(COMPARE_AND_SET, 1, keyOf(accountId), holder, generationId, Math.ceil(ttlMs)))

  return {
    async acquire(accountId, generationId) {
      try {
        const held = (await availability.run(() =>
          redis.eval(SET_IF_FREE, 1, keyOf(accountId), generationId, SUBMIT_TTL_MS),
        )) as [string, number] | null
        if (!held) return { acquired: true }
        const [holder, ttlMs] = held
        // Our own id: the first answer got lost on the way.
        if (holder === generationId) return { acquired: true }
        // Only a generation that is stored has its lock extended; -1: one that somebody made to last for ever.
        return { acquired: false, holder, wasStored: ttlMs > SUBMIT_TTL_MS || ttlMs === -1 }
      } catch {
        return { acquired: true }
      }
    },

    async replace(accountId, holder, generationId) {
      return (await set(accountId, holder, generationId, SUBMIT_TTL_MS).catch(() => 1)) === 1
    },

    async extend({ accountId, generationId, ttlMs }) {
      await availability
        .run(() => redis.eval(COMPARE_AND_EXTEND, 1, keyOf(accountId), generationId, Math.ceil(ttlMs)))
        .catch(() => undefined)
    },

    async keep(locks) {
      const keys = locks.map(({ accountId }) => keyOf(accountId))
      const values = locks.flatMap(({ generationId, ttlMs }) => [generationId, Math.ceil(ttlMs)])
      return availability
        .run(() => redis.eval(KEEP, keys.length, ...keys, ...values))
        .then(
          () => true,
          () => false,
        )
    },

    async release(accountId, generationId) {
      await availability
        .run(() => redis.eval(COMPARE_AND_DELETE, 1, keyOf(accountId), generationId))
        .catch(() => undefined)
    },

    async *all() {
      const start = keyOf('').length
      for await (const keys of redis.scanStream({ match: `${keyOf('')}*`, count: 500 }) as AsyncIterable<string[]>) {
        if (keys.length === 0) continue
        const holders = await redis.mget(keys)
        const locks: HeldLock[] = []
        for (const [i, key] of keys.entries()) {
          const generationId = holders[i]
          if (generationId) locks.push({ accountId: key.slice(start), generationId })
        }
        yield locks
      }
    },
  }
}

/** One-machine mode: the unique index guards alone. */
export const noActiveGenerationLock: ActiveGenerationLock = {
  acquire: async () => ({ acquired: true }),
  replace: async () => true,
  extend: async () => undefined,
  keep: async () => true,
  release: async () => undefined,
  async *all() {},
}
