import type { Redis } from 'ioredis'

/** A key that only a wipe of Redis removes: FLUSHALL leaves no other trace, not even a new run id. */
export const redisWipeMark = (redis: Redis, prefix: string) => ({
  /** Redis being away says nothing; the next look tells. */
  present: async (): Promise<boolean> =>
    redis.exists(`${prefix}:sentinel`).then(
      (n) => n === 1,
      () => true,
    ),
  set: async (): Promise<void> => {
    await redis.set(`${prefix}:sentinel`, '1').catch(() => undefined)
  },
})

/** One-machine mode: what Postgres keeps, no wipe takes. */
export const noWipeMark = { present: async () => true, set: async () => undefined }
