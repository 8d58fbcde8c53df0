import { setTimeout as after } from 'node:timers/promises'
import { serviceUnavailable } from '../errors.js'
import { answerError } from './errors.js'
import type { App } from './fastify-app.js'
import { errorBody } from './personal-api/envelope.js'

/** A Postgres that hangs is as good as none; who asks should not have to wait for its time-out. */
const READY_WITHIN_MS = 2000

/** For load balancers and compose: no key, no limit. A silent moderation endpoint is told, and no reason to go elsewhere. */
export function healthRoutes(app: App, ready: () => Promise<boolean>, moderationIsSilent: () => boolean): void {
  // All who ask meanwhile share one look, so that any number of them costs Postgres no more than one.
  let looking: Promise<boolean> | undefined
  const look = () => {
    looking ??= ready().finally(() => {
      looking = undefined
    })
    return looking
  }
  app.get('/health', { config: { alwaysServed: true } }, async () => ({ status: 'ok' }))
  app.get('/ready', { config: { alwaysServed: true } }, async (_request, reply) => {
    // Not thrown: asked every second, it would fill the log with what an outage's own line says.
    if (!(await Promise.race([look(), after(READY_WITHIN_MS, false, { ref: false })])))
      return answerError(serviceUnavailable(2), errorBody, reply)
    return { status: 'ready', ...(moderationIsSilent() && { moderation: 'unavailable' }) }
  })
}
