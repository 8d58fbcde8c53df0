import { serviceUnavailable } from '../../core/errors.js'
import type { Release } from '../../core/release.js'
import { answerError } from '../shared/error-responses.js'
import type { App } from '../shared/fastify-app.js'

/**
 * Health checks for load balancers and compose, without a key or a rate limit. A silent moderation endpoint is reported,
 * but the server stays ready: every other server would have the same problem.
 */
export function healthRoutes(app: App, ready: () => Promise<boolean>, moderationIsSilent: () => boolean): void {
  app.get('/health', { config: { alwaysServed: true } }, async () => ({ status: 'ok' }))
  // What HAProxy asks where its check names nothing else.
  app.options('/', { config: { alwaysServed: true } }, (_request, reply) =>
    reply.code(204).header('allow', 'GET, HEAD, OPTIONS').send(),
  )
  app.get('/ready', { config: { alwaysServed: true } }, async (_request, reply) => {
    // Not thrown: a check every second would fill the log with what the outage has already logged once.
    if (!(await ready())) return answerError(serviceUnavailable(2), reply)
    return { status: 'ready', ...(moderationIsSilent() && { moderation: 'unavailable' }) }
  })
}

/** Says what runs here, without a key or a rate limit. It asks nobody: so it also answers while Postgres is away. */
export function versionRoute(app: App, release: Release): void {
  app.get('/version', { config: { alwaysServed: true } }, async () => release)
}
