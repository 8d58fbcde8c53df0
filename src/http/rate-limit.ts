import type { FastifyRequest } from 'fastify'
import { rateLimited } from '../errors.js'
import type { EventCounter } from './authentication.js'
import type { App } from './fastify-app.js'

export interface RateLimit {
  readonly counter: EventCounter
  readonly max: number
  readonly windowSeconds: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the request is authenticated, for the hook that waits for it. */
    rateLimitCount: ReturnType<EventCounter['hit']>
  }
}

/**
 * Limits the requests to all routes of this scope, in one bucket per client. Register it after the authentication. The
 * count begins before the `onRequest` hooks of a route and is waited for after them, so that they may read ahead.
 * @param bucketOf the key of the bucket that a request counts into
 */
export function registerRateLimit(app: App, limit: RateLimit, bucketOf: (request: FastifyRequest) => string): void {
  const { counter, max, windowSeconds } = limit
  const headersOf = (remaining: number, reset: number) => ({
    'x-ratelimit-limit': max,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': reset,
    // Clients look for either family of names.
    'ratelimit-policy': `${max};w=${windowSeconds}`,
    'ratelimit-limit': max,
    'ratelimit-remaining': remaining,
    'ratelimit-reset': reset,
  })
  const names = Object.keys(headersOf(0, 0))

  app.decorateRequest('rateLimitCount', null as unknown as FastifyRequest['rateLimitCount'])
  app.addHook('onRequest', (request, _reply, next) => {
    request.rateLimitCount = counter.hit(bucketOf(request), windowSeconds * 1000, max)
    next()
  })
  app.addHook('preParsing', async (request, reply) => {
    const { current, ttlMs } = await request.rateLimitCount
    const reset = Math.ceil(ttlMs / 1000)
    reply.headers(headersOf(Math.max(0, max - current), reset))
    if (current > max) throw rateLimited(max, windowSeconds, Math.max(1, reset))
  })
  app.addHook('onSend', (_request, reply, payload, next) => {
    // If a key is revoked during its request, the answer is the same as to the next one, which is not counted.
    if (reply.statusCode === 401) for (const name of names) reply.removeHeader(name)
    next(null, payload)
  })
}
