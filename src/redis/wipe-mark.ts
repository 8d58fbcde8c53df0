import type { Redis } from 'ioredis'
import type { WipeMark } from '../core/generations/repair/ports.js'

/** Nothing to do with Redis Sentinel. Under another name, running installations would take it for wiped. */
export const wipeMarkKey = (prefix: string) => `${prefix}:sentinel`
/** What it holds once all locks are there; while they are being restored it holds something else. */
export const PRESENT = '1'

/** A key that only a wipe of Redis removes: FLUSHALL leaves no other trace, not even a new run id. */
export function redisWipeMark(redis: Redis, prefix: string): WipeMark {
  const key = wipeMarkKey(prefix)
  return {
    // An outage is not a wipe.
    present: async () => (await redis.get(key).catch(() => PRESENT)) === PRESENT,
    async begin() {
      await redis.set(key, 'restoring', 'NX').catch(() => undefined)
    },
    finish: async () => (await redis.set(key, PRESENT, 'XX').catch(() => null)) === 'OK',
  }
}

/** Without Redis. */
export const noWipeMark: WipeMark = {
  present: async () => true,
  begin: async () => undefined,
  finish: async () => true,
}
