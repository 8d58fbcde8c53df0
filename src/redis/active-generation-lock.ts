import type { Redis } from 'ioredis'
import { guardOff } from '../failpoint.js'
import type { ActiveGenerationLock, HeldLock } from '../generation/shared-ports.js'
import { defineScript, type RedisAvailability, redisAvailability } from './client.js'

/** From submit until the generation is stored; then the lock is extended until past its deadline. */
const SUBMIT_TTL_MS = guardOff('lock.expiry') ? 86_400_000 : 15_000

// Otherwise returns the holder and its remaining TTL.
const SET_IF_FREE = `
  local held = redis.call('GET', KEYS[1])
  if held == false then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return false end
  return { held, redis.call('PTTL', KEYS[1]) }`
// Returns how many were set. Arguments per key: the holder that it may have, the new holder, and the TTL.
const SET_UNLESS_OTHERS = `
  local set = 0
  for i, key in ipairs(KEYS) do
    local held = redis.call('GET', key)
    if held == false or held == ARGV[3 * i - 2] then
      redis.call('SET', key, ARGV[3 * i - 1], 'PX', ARGV[3 * i])
      set = set + 1
    end
  end
  return set`
const EXTEND_IF_HELD = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`
const DELETE_IF_HELD = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

/**
 * One key per account, with the generation's id as value; only that generation releases it. While Redis is down every
 * acquire succeeds: Postgres's unique index is the guard, the lock only refuses early.
 */
export function redisActiveGenerationLock(
  redis: Redis,
  prefix: string,
  availability: RedisAvailability = redisAvailability(),
): ActiveGenerationLock {
  const keyOf = (accountId: string) => `${prefix}:lock:${accountId}`
  const scriptOn = (name: string, lua: string) => {
    const script = defineScript(redis, name, lua)
    return (accountIds: readonly string[], ...values: (string | number)[]) =>
      availability.run(() => script(accountIds.map(keyOf), ...values))
  }
  const setIfFree = scriptOn('lockIfFree', SET_IF_FREE)
  const setUnlessOthers = scriptOn('lockUnlessOthers', SET_UNLESS_OTHERS)
  const extendIfHeld = scriptOn('extendLock', EXTEND_IF_HELD)
  const deleteIfHeld = scriptOn('releaseLock', DELETE_IF_HELD)

  return {
    async acquire(accountId, generationId) {
      try {
        const held = (await setIfFree([accountId], generationId, SUBMIT_TTL_MS)) as [string, number] | null
        if (!held) return { acquired: true }
        const [holder, ttlMs] = held
        // Our own id: the answer to the first command was lost.
        if (holder === generationId) return { acquired: true }
        // Only a stored generation's lock is extended. -1: someone removed the expiry.
        return { acquired: false, holder, wasStored: ttlMs > SUBMIT_TTL_MS || ttlMs === -1 }
      } catch {
        return { acquired: true }
      }
    },

    async replace(accountId, holder, generationId) {
      const set = setUnlessOthers([accountId], holder, generationId, SUBMIT_TTL_MS)
      return (await set.catch(() => 1)) === 1
    },

    async extend({ accountId, generationId, ttlMs }) {
      await extendIfHeld([accountId], generationId, Math.ceil(ttlMs)).catch(() => undefined)
    },

    async keep(locks) {
      const accountIds = locks.map(({ accountId }) => accountId)
      const values = locks.flatMap(({ generationId: id, ttlMs }) => [id, id, Math.ceil(ttlMs)])
      return setUnlessOthers(accountIds, ...values).then(
        () => true,
        () => false,
      )
    },

    async release(accountId, generationId) {
      await deleteIfHeld([accountId], generationId).catch(() => undefined)
    },

    async *all() {
      const start = keyOf('').length
      for await (const keys of redis.scanStream({ match: `${keyOf('')}*`, count: 500 }) as AsyncIterable<string[]>) {
        if (keys.length === 0) continue
        const holders = await redis.mget(keys)
        yield keys.flatMap((key, i): HeldLock[] => {
          const generationId = holders[i]
          return generationId ? [{ accountId: key.slice(start), generationId }] : []
        })
      }
    },
  }
}

/** One-machine mode: the unique index is the only guard. */
export const noActiveGenerationLock: ActiveGenerationLock = {
  acquire: async () => ({ acquired: true }),
  replace: async () => true,
  extend: async () => undefined,
  keep: async () => true,
  release: async () => undefined,
  async *all() {},
}
