/** How long Redis is not asked again after it failed to answer: one request in a while pays for the time-out, not each. */
const REST_MS = 1000

/** Thrown instead of asking a Redis that has just failed. */
class RedisResting extends Error {
  constructor() {
    super('redis did not answer a moment ago and is not asked again yet')
  }
}

/** Remembers that Redis has just failed, for all that share it; what runs through it fails at once meanwhile. */
export function redisAvailability(now: () => number = () => performance.now()) {
  let restsUntil = 0
  return {
    async run<T>(ask: () => Promise<T>): Promise<T> {
      if (now() < restsUntil) throw new RedisResting()
      try {
        return await ask()
      } catch (error) {
        restsUntil = now() + REST_MS
        throw error
      }
    },
  }
}

export type RedisAvailability = ReturnType<typeof redisAvailability>
