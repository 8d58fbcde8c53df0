import type { WipeMark } from '../core/generations/repair/ports.js'
import { type RedisClient, slotPrefixes } from './cluster.js'

/** Nothing to do with Redis Sentinel. Under another name, running installations would take it for wiped. */
export const wipeMarkKey = (prefix: string) => `${prefix}:sentinel`
/** What it holds once all locks are there; while they are being restored it holds something else. */
export const PRESENT = '1'

/**
 * A key that only a wipe of Redis removes: FLUSHALL leaves no other trace, not even a new run id.
 * A cluster may lose a part alone, so it has one for each part. They are looked at in turn: the reconciler looks twice a
 * second.
 */
export function redisWipeMark(redis: RedisClient, prefix: string): WipeMark {
  const keys = slotPrefixes(redis, prefix).map(wipeMarkKey)
  let next = 0
  const all = (ask: (key: string) => Promise<boolean>) => Promise.all(keys.map(ask)).then((it) => !it.includes(false))
  return {
    // An outage is not a wipe.
    async present() {
      const key = keys[next % keys.length] as string
      const isPresent = (await redis.get(key).catch(() => PRESENT)) === PRESENT
      // Until it is restored, the same one is looked at again.
      if (isPresent) next++
      return isPresent
    },
    async begin() {
      await all(async (key) => (await redis.set(key, 'restoring', 'NX').catch(() => null)) === 'OK')
    },
    finish: () => all(async (key) => (await redis.set(key, PRESENT, 'XX').catch(() => null)) === 'OK'),
  }
}

/** Without Redis. */
export const noWipeMark: WipeMark = {
  present: async () => true,
  begin: async () => undefined,
  finish: async () => true,
}
