import type { FastifyRequest } from 'fastify'
import { rateLimited } from '../../core/errors.js'
import type { EventCounter } from '../../http/shared/authentication.js'

/** More than anybody clicks and types; a program has the API, with its own limit. */
const MAX = 120
const SECONDS = 60

/** Limits what an account sends by forms: each may ask moderation, call a webhook or write rows. */
export const limitActs =
  (counter: EventCounter) =>
  async ({ method, caller }: FastifyRequest) => {
    if (method === 'GET' || method === 'HEAD') return
    const { current, ttlMs } = await counter.hit(`website:${caller.account.id}`, SECONDS * 1000, MAX)
    if (current > MAX) throw rateLimited(MAX, SECONDS, Math.max(1, Math.ceil(ttlMs / 1000)))
  }
