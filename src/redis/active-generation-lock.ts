import type { Redis } from 'ioredis'
import { type ActiveGenerationLock, type HeldLock, type LockToKeep, SUBMIT_LOCK_MS } from '../core/generations/ports.js'
import { batched, joined } from '../lib/batch.js'
import { retryInBackground } from '../lib/retry.js'
import { defineScript, type RedisAvailability, redisAvailability } from './client.js'

// Returns for each key 0 if it was free, else its holder and the remaining TTL. Arguments: the TTL, then each key's new holder.
const SET_IF_FREE = `
  local answers = {}
  for i, key in ipairs(KEYS) do
    local held = redis.call('GET', key)
    answers[i] = held and { held, redis.call('PTTL', key) } or 0
    if not held then redis.call('SET', key, ARGV[i + 1], 'PX', ARGV[1]) end
  end
  return answers`
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
// Arguments per key: its holder and the new TTL.
const EXTEND_IF_HELD = `
  for i, key in ipairs(KEYS) do
    if redis.call('GET', key) == ARGV[2 * i - 1] then redis.call('PEXPIRE', key, ARGV[2 * i]) end
  end`
// Arguments per key: its holder.
const DELETE_IF_HELD = `
  for i, key in ipairs(KEYS) do
    if redis.call('GET', key) == ARGV[i] then redis.call('DEL', key) end
  end`

/**
 * One key per account, with the generation's id as value; only that generation releases it. While Redis is down every
 * acquire succeeds: Postgres's unique index is the guard, the lock only refuses early.
 */
export function redisActiveGenerationLock(
  redis: Redis,
  prefix: string,
  availability: RedisAvailability = redisAvailability(),
  submitTtlMs = SUBMIT_LOCK_MS,
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
  // Submits that come in at once share a command.
  const acquireAll = batched(async (asked: readonly HeldLock[]) => {
    const accountIds = asked.map(({ accountId }) => accountId)
    const newHolders = asked.map(({ generationId }) => generationId)
    return (await setIfFree(accountIds, submitTtlMs, ...newHolders)) as (0 | [holder: string, ttlMs: number])[]
  })
  const extendAll = joined((locks: readonly LockToKeep[]) => {
    const accountIds = locks.map(({ accountId }) => accountId)
    return extendIfHeld(accountIds, ...locks.flatMap(({ generationId, ttlMs }) => [generationId, Math.ceil(ttlMs)]))
  })
  const releaseAll = joined((locks: readonly HeldLock[]) => {
    const accountIds = locks.map(({ accountId }) => accountId)
    return deleteIfHeld(accountIds, ...locks.map(({ generationId }) => generationId))
  })

  return {
    async acquire(accountId, generationId) {
      try {
        const held = await acquireAll({ accountId, generationId })
        if (held === 0) return { acquired: true }
        const [holder, ttlMs] = held
        // Our own id: the answer to the first command was lost.
        if (holder === generationId) return { acquired: true }
        // Only a stored generation's lock is extended. -1: the key has no expiry.
        return { acquired: false, holder, wasStored: ttlMs > submitTtlMs || ttlMs === -1 }
      } catch {
        return { acquired: true }
      }
    },

    async replace(accountId, holder, generationId) {
      const set = setUnlessOthers([accountId], holder, generationId, submitTtlMs)
      return (await set.catch(() => 1)) === 1
    },

    async extend(lock) {
      await extendAll(lock).catch(() => undefined)
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
      await retryInBackground(() => releaseAll({ accountId, generationId }))
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

/** Without Redis Postgres's unique index is the only guard. */
export const noActiveGenerationLock: ActiveGenerationLock = {
  acquire: async () => ({ acquired: true }),
  replace: async () => true,
  extend: async () => undefined,
  keep: async () => true,
  release: async () => undefined,
  async *all() {},
}
