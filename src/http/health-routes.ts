import { setTimeout as after } from 'node:timers/promises'
import { serviceUnavailable } from '../errors.js'
import { answerError } from './error-answers.js'
import type { App } from './fastify-app.js'

/** A Postgres that hangs counts as missing; a health check should not have to wait for its time-out. */
const READY_WITHIN_MS = 2000

/**
 * Health checks for load balancers and compose, without a key and a rate limit. A moderation endpoint that is silent is
 * mentioned, but other servers would have the same problem, so this one stays ready.
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
    // Not thrown: checked every second, it would fill the log with what the outage's own line says.
    if (!(await Promise.race([isReady(), after(READY_WITHIN_MS, false, { ref: false })])))
      return answerError(serviceUnavailable(2), reply)
    return { status: 'ready', ...(moderationIsSilent() && { moderation: 'unavailable' }) }
  })
}
