import type { ModelStore } from '../../catalog/model-version.js'
import { developerKeyRefused } from '../../errors.js'
import type { PollPorts } from '../../generation/poll.js'
import type { ImageStore } from '../../generation/ports.js'
import type { SubmitPorts } from '../../generation/submit.js'
import type { EndpointPorts } from '../../webhooks/endpoints.js'
import type { App } from '../app.js'
import { type AuthenticationOptions, registerAuthentication } from '../authentication.js'
import { handleErrors, handleNotFound } from '../errors.js'
import { type RateLimitOptions, registerRateLimit } from '../rate-limit.js'
import { accountRoutes } from './account-routes.js'
import { errorBody } from './envelope.js'
import { generateRoutes } from './generate-routes.js'
import { modelsRoutes } from './models-routes.js'
import { webhookRoutes } from './webhook-routes.js'

export interface PersonalApiOptions {
  readonly ports: SubmitPorts &
    PollPorts & { readonly models: ModelStore; readonly images: ImageStore; readonly webhooks: EndpointPorts }
  readonly authentication: AuthenticationOptions
  readonly limit: Omit<RateLimitOptions, 'bucketOf'>
}

/** The Personal Access API, spec 4.1 to 4.5: one encapsulated scope under /api/v1. */
export async function personalApi(app: App, { ports, authentication, limit }: PersonalApiOptions): Promise<void> {
  app.setErrorHandler(handleErrors(errorBody))
  app.setNotFoundHandler(handleNotFound(errorBody))
  registerAuthentication(app, authentication)
  await registerRateLimit(app, { ...limit, bucketOf: ({ caller }) => `rate:personal:${caller.account.id}` })
  // The first hook after the limiter and before the body is read.
  app.addHook('preParsing', async ({ caller, is404 }) => {
    if (!is404 && caller.keyKind === 'developer') throw developerKeyRefused()
  })
  accountRoutes(app)
  modelsRoutes(app, ports.models)
  generateRoutes(app, ports)
  webhookRoutes(app, ports.webhooks)
}
