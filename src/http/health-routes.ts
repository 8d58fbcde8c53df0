import { setTimeout as after } from 'node:timers/promises'
import { serviceUnavailable } from '../errors.js'
import { answerError } from './error-answers.js'
import type { App } from './fastify-app.js'

/** A Postgres that hangs counts as away: a health check should not wait for its time-out. */
const READY_WITHIN_MS = 2000

/**
 * Health checks for load balancers and compose, without a key or a rate limit. A silent moderation endpoint is reported,
 * but the server stays ready: every other server would have the same problem.
 */
export function healthRoutes(app: App, ready: () => Promise<boolean>, moderationIsSilent: () => boolean): void {
  // Checks that come at the same time share one query.
  let pending: Promise<boolean> | undefined
  const isReady = () => {
    pending ??= ready().finally(() => {
      pending = undefined
    })
    return pending
  }
  app.get('/health', { config: { alwaysServed: true } }, async () => ({ status: 'ok' }))
  app.get('/ready', { config: { alwaysServed: true } }, async (_request, reply) => {
    // Not thrown: a check every second would fill the log with what the outage has already logged once.
    if (!(await Promise.race([isReady(), after(READY_WITHIN_MS, false, { ref: false })])))
      return answerError(serviceUnavailable(2), reply)
    return { status: 'ready', ...(moderationIsSilent() && { moderation: 'unavailable' }) }
  })
}
