import { developerKeyRefused } from '../../core/errors.js'
import { type AuthenticationOptions, registerAuthentication, watchRevocations } from '../shared/authentication.js'
import type { App } from '../shared/fastify-app.js'
import type { PersonalApiPorts } from '../shared/ports.js'
import { type RateLimit, registerRateLimit } from '../shared/rate-limit.js'
import type { StreamTimes } from '../shared/server-sent-events.js'
import { accountRoutes, creditRoutes } from './accounts/account-routes.js'
import { usageRoutes } from './accounts/usage-routes.js'
import { capabilitiesRoutes, modelRoutes } from './catalog/catalog-routes.js'
import { cancelRoutes, eventRoutes, pollRoutes } from './generations/follow-routes.js'
import { generationRoutes } from './generations/generation-routes.js'
import { moderationRoutes } from './generations/moderation-routes.js'
import { submitRoutes } from './generations/submit-routes.js'
import { imageRemovalRoutes, imageRoutes } from './images/image-routes.js'
import { webhookActionRoutes, webhookRoutes } from './webhooks/webhook-routes.js'

/*
 * The layout of both interfaces: `<noun>-routes.ts` has the routes of a noun, each of which reads the request, calls the
 * core, and shows the result. Before them stand the schemas of its requests and answers (wire → core), each answer's
 * view (core → wire) right after its schema, and the descriptions of its routes. Schemas that others import, too, have a
 * file of their own, `<noun>-schemas.ts`.
 */

export interface PersonalApiOptions {
  readonly ports: PersonalApiPorts
  readonly authentication: AuthenticationOptions
  readonly limit: RateLimit
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
  /** Only for tests, which can't wait so long. */
  readonly streamTimes?: StreamTimes | undefined
}

/** The Personal Access API, spec 4.1 to 4.5: one encapsulated scope under /api/v1. */
export async function personalApi(app: App, options: PersonalApiOptions): Promise<void> {
  const { ports, authentication, limit, leaving, streamTimes } = options
  const keyRevoked = watchRevocations(app, registerAuthentication(app, authentication))
  await registerRateLimit(app, limit, ({ caller }) => `rate:personal:${caller.account.id}`)
  // The first hook after the limiter and before the body is read.
  app.addHook('preParsing', ({ caller }, _reply, payload, next) =>
    caller.keyKind === 'developer' ? next(developerKeyRefused()) : next(null, payload),
  )
  accountRoutes(app)
  modelRoutes(app, ports)
  submitRoutes(app, ports)
  pollRoutes(app, ports, leaving, keyRevoked)
  eventRoutes(app, ports, keyRevoked, streamTimes)
  await app.register(async (scope: App) => {
    // These routes need no body: any body of any content type is read and dropped.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null))
    cancelRoutes(scope, ports)
    imageRemovalRoutes(scope, ports)
    webhookActionRoutes(scope, ports.webhooks)
  })
  moderationRoutes(app, ports)
  capabilitiesRoutes(app, ports.models, limit)
  generationRoutes(app, ports)
  imageRoutes(app, ports)
  creditRoutes(app, ports.ledger)
  usageRoutes(app, ports.usage)
  webhookRoutes(app, ports.webhooks)
}
