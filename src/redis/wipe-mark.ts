import type { Redis } from 'ioredis'
import type { WipeMark } from '../generation/repair/ports.js'

/** A key that only a wipe of Redis removes: FLUSHALL leaves no other trace, not even a new run id. */
export const redisWipeMark = (redis: Redis, prefix: string): WipeMark => ({
  // An outage is not a wipe.
  present: async () => (await redis.exists(`${prefix}:sentinel`).catch(() => 1)) === 1,
  async set() {
    await redis.set(`${prefix}:sentinel`, '1').catch(() => undefined)
  },
})

/** One-machine mode, without Redis. */
export const noWipeMark = { present: async () => true, set: async () => undefined }
