import rateLimit from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import { rateLimited } from '../errors.js'
import type { EventCounter } from './authentication.js'
import type { App } from './fastify-app.js'

export interface RateLimitOptions {
  readonly counter: EventCounter
  readonly max: number
  readonly windowSeconds: number
  /** The key of the bucket that a request counts into. */
  readonly bucketOf: (request: FastifyRequest) => string
}

const PLUGINS_OWN = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']

/**
 * Limits the requests to all routes that are declared after it in this scope, in one bucket per client. Our own store
 * has a sliding window; the plugin's fixed one lets nearly twice the limit through where two windows meet.
 */
export async function registerRateLimit(
  app: App,
  { counter, max, windowSeconds, bucketOf }: RateLimitOptions,
): Promise<void> {
  class SlidingWindowStore {
    incr(
      key: string,
      callback: (error: Error | null, result?: { current: number; ttl: number }) => void,
      windowMs: number,
      limit: number,
    ): void {
      counter.hit(key, windowMs, limit).then(
        ({ current, ttlMs }) => callback(null, { current, ttl: ttlMs }),
        (error) => callback(error),
      )
    }
    // For routes with their own limit; ours all share one bucket.
    child(): this {
      return this
    }
  }
  // Clients look for either family of names: both are on every answer that was counted.
  const policy = `${max};w=${windowSeconds}`
  app.addHook('onSend', (_request, reply, payload, next) => {
    // If a key is revoked during its request, the answer is the same as to the next one, which is not counted.
    if (reply.statusCode === 401) for (const name of PLUGINS_OWN) reply.removeHeader(name)
    const limit = reply.getHeader('x-ratelimit-limit')
    if (limit !== undefined) {
      reply
        .header('ratelimit-policy', policy)
        .header('ratelimit-limit', limit)
        .header('ratelimit-remaining', reply.getHeader('x-ratelimit-remaining'))
        .header('ratelimit-reset', reply.getHeader('x-ratelimit-reset'))
    }
    next(null, payload)
  })
  await app.register(rateLimit, {
    global: true,
    hook: 'onRequest',
    max,
    timeWindow: windowSeconds * 1000,
    store: SlidingWindowStore,
    keyGenerator: bucketOf,
    errorResponseBuilder: (_request, { ttl }) => rateLimited(max, windowSeconds, Math.max(1, Math.ceil(ttl / 1000))),
  })
}
