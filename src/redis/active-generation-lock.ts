import { type ActiveGenerationLock, type HeldLock, type LockToKeep, SUBMIT_LOCK_MS } from '../core/generations/ports.js'
import { batched, joined } from '../lib/batch.js'
import { retryInBackground } from '../lib/retry.js'
import { defineScript, type RedisAvailability, redisAvailability } from './client.js'
import { keyNamer, keyPattern, perSlot, type RedisClient, scanKeys } from './cluster.js'

// Returns for each key 0 if it was free, else its holder and the remaining TTL. Arguments: the TTL, then each key's new holder.
const SET_IF_FREE = `
  local answers = {}
  for i, key in ipairs(KEYS) do
    local held = redis.call('GET', key)
    answers[i] = held and { held, redis.call('PTTL', key) } or 0
    if not held then redis.call('SET', key, ARGV[i + 1], 'PX', ARGV[1]) end
  end
  return answers`
// Returns for each key 1 if it was set, else 0. Arguments per key: the holder that it may have, the new holder, and the TTL.
const SET_UNLESS_OTHERS = `
  local set = {}
  for i, key in ipairs(KEYS) do
    local held = redis.call('GET', key)
    set[i] = 0
    if held == false or held == ARGV[3 * i - 2] then
      redis.call('SET', key, ARGV[3 * i - 1], 'PX', ARGV[3 * i])
      set[i] = 1
    end
  end
  return set`
// Arguments per key: its holder and the new TTL.
const EXTEND_IF_HELD = `
  for i, key in ipairs(KEYS) do
    if redis.call('GET', key) == ARGV[2 * i - 1] then redis.call('PEXPIRE', key, ARGV[2 * i]) end
  end
  return {}`
// Arguments per key: its holder.
const DELETE_IF_HELD = `
  for i, key in ipairs(KEYS) do
    if redis.call('GET', key) == ARGV[i] then redis.call('DEL', key) end
  end
  return {}`

/** What the key of an account is called. */
export function lockKey(redis: RedisClient, prefix: string): (accountId: string) => string {
  const nameKey = keyNamer(redis, prefix)
  return (accountId) => nameKey(`lock:${accountId}`)
}

/**
 * One key per account, with the generation's id as value; only that generation releases it. While Redis is down every
 * acquire succeeds: Postgres's unique index is the guard, the lock only refuses early.
 */
export function redisActiveGenerationLock(
  redis: RedisClient,
  prefix: string,
  availability: RedisAvailability = redisAvailability(),
  submitTtlMs = SUBMIT_LOCK_MS,
): ActiveGenerationLock {
  const keyOfAccount = lockKey(redis, prefix)
  const keyOf = ({ accountId }: HeldLock) => keyOfAccount(accountId)
  /** @param valuesOf the arguments of one key. The answers come in the order of the locks. */
  const scriptOn = <Lock extends HeldLock>(
    name: string,
    lua: string,
    valuesOf: (lock: Lock) => (string | number)[],
  ) => {
    const script = defineScript(redis, name, lua)
    return <Answer>(locks: readonly Lock[], ...first: number[]): Promise<Answer[]> =>
      perSlot(locks, keyOf, (keys, its) =>
        availability.run(() => script(keys, ...first, ...its.flatMap(valuesOf)) as Promise<Answer[]>),
      )
  }
  const setIfFree = scriptOn('lockIfFree', SET_IF_FREE, ({ generationId }) => [generationId])
  const setUnlessOthers = scriptOn('lockUnlessOthers', SET_UNLESS_OTHERS, (lock: LockToKeep & { holder: string }) => [
    ...[lock.holder, lock.generationId],
    Math.ceil(lock.ttlMs),
  ])
  const extendIfHeld = scriptOn('extendLock', EXTEND_IF_HELD, ({ generationId, ttlMs }: LockToKeep) => [
    generationId,
    Math.ceil(ttlMs),
  ])
  const deleteIfHeld = scriptOn('releaseLock', DELETE_IF_HELD, ({ generationId }) => [generationId])
  // Submits that come in at once share a command.
  const acquireAll = batched((asked: readonly HeldLock[]) =>
    setIfFree<0 | [holder: string, ttlMs: number]>(asked, submitTtlMs),
  )
  const extendAll = joined((locks: readonly LockToKeep[]) => extendIfHeld(locks))
  const releaseAll = joined((locks: readonly HeldLock[]) => deleteIfHeld(locks))

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
      const set = setUnlessOthers<0 | 1>([{ accountId, generationId, holder, ttlMs: submitTtlMs }])
      return (await set.catch(() => [1]))[0] === 1
    },

    async extend(lock) {
      await extendAll(lock).catch(() => undefined)
    },

    async keep(locks) {
      return setUnlessOthers(locks.map((lock) => ({ ...lock, holder: lock.generationId }))).then(
        () => true,
        () => false,
      )
    },

    async release(accountId, generationId) {
      await retryInBackground(() => releaseAll({ accountId, generationId }))
    },

    async *all() {
      for await (const keys of scanKeys(redis, keyPattern(redis, prefix, 'lock:'), 500)) {
        const holders = await perSlot(
          keys,
          (key) => key,
          (its) => redis.mget([...its]),
        )
        yield keys.flatMap((key, i): HeldLock[] => {
          const generationId = holders[i]
          return generationId ? [{ accountId: key.slice(key.indexOf(':lock:') + ':lock:'.length), generationId }] : []
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
