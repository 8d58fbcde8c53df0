import rateLimit from '@fastify/rate-limit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { rateLimited } from '../../core/errors.js'
import type { EventCounter } from './authentication.js'
import type { App } from './fastify-app.js'

export interface RateLimit {
  readonly counter: EventCounter
  /** Unless the caller's plan has a limit of its own. */
  readonly max: number
  readonly windowSeconds: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the request is authenticated, for the hook that waits for it. */
    rateLimitCount: ReturnType<ReturnType<FastifyInstance['createRateLimit']>>
  }
}

interface CountedByBody {
  /** How many times the caller's limit this request has, which may also be of another bucket. */
  readonly timesOf: (request: FastifyRequest) => number
}

/** How many requests the caller may make in a window. @param usual without a limit of the caller's plan */
export const maxOf = ({ caller }: Pick<FastifyRequest, 'caller'>, usual: number): number =>
  caller.planLimits?.rateLimit ?? usual

/**
 * Limits the requests to all routes of this scope, in one bucket per client. Register it after the authentication. The
 * count begins before the `onRequest` hooks of a route and is waited for after them, so that they may read ahead. Our own
 * store has a sliding window; the plugin's fixed one lets nearly twice the limit through where two windows meet.
 * @param bucketOf the key of the bucket that a request counts into
 * @param byBody where the body says what a request counts as: it is read before the request is counted
 */
export async function registerRateLimit(
  app: App,
  { counter, max, windowSeconds }: RateLimit,
  bucketOf: (request: FastifyRequest) => string,
  byBody?: CountedByBody,
): Promise<void> {
  class SlidingWindowStore {
    incr(
      key: string,
      done: (error: Error | null, count?: { current: number; ttl: number }) => void,
      _timeWindow: number,
      limit: number,
    ): void {
      counter.hit(key, timeWindow, limit).then(
        ({ current, ttlMs }) => done(null, { current, ttl: ttlMs }),
        (error) => done(error),
      )
    }
    // For routes with their own limit; ours all share one bucket.
    child(): this {
      return this
    }
  }
  const headersOf = (limit: number, remaining: number, reset: number) => ({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': reset,
    // Clients look for either family of names.
    'ratelimit-policy': `${limit};w=${windowSeconds}`,
    'ratelimit-limit': limit,
    'ratelimit-remaining': remaining,
    'ratelimit-reset': reset,
  })
  const names = Object.keys(headersOf(0, 0, 0))

  const timeWindow = windowSeconds * 1000
  await app.register(rateLimit, {
    global: false,
    max: (request: FastifyRequest) => maxOf(request, max) * (byBody?.timesOf(request) ?? 1),
    timeWindow,
    store: SlidingWindowStore,
    keyGenerator: bucketOf,
  })
  const count = app.createRateLimit()
  app.decorateRequest('rateLimitCount', null as unknown as FastifyRequest['rateLimitCount'])
  const limited = async (request: FastifyRequest, reply: FastifyReply) => {
    const counted = await request.rateLimitCount
    if (counted.isAllowed) return
    reply.headers(headersOf(counted.max, counted.remaining, counted.ttlInSeconds))
    if (counted.isExceeded) throw rateLimited(counted.max, windowSeconds, Math.max(1, counted.ttlInSeconds))
  }
  const begin = (request: FastifyRequest) => {
    request.rateLimitCount = count(request)
  }
  if (byBody)
    app.addHook('preHandler', (request, reply) => {
      begin(request)
      return limited(request, reply)
    })
  else {
    app.addHook('onRequest', (request, _reply, next) => {
      begin(request)
      next()
    })
    app.addHook('preParsing', limited)
  }
  app.addHook('onSend', (_request, reply, payload, next) => {
    // If a key is revoked during its request, the answer is the same as to the next one, which is not counted.
    if (reply.statusCode === 401) for (const name of names) reply.removeHeader(name)
    next(null, payload)
  })
}
