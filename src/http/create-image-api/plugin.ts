import { type AuthenticationOptions, registerAuthentication } from '../shared/authentication.js'
import { handleErrors } from '../shared/error-responses.js'
import type { App } from '../shared/fastify-app.js'
import { type RateLimit, registerRateLimit } from '../shared/rate-limit.js'
import { generateRoutes, imageCreation, type WaitingOptions } from './generate-routes.js'
import { openAiRoutes } from './openai-routes.js'

export interface CreateImageApiOptions extends WaitingOptions {
  readonly authentication: AuthenticationOptions
  readonly limit: RateLimit
}

/** Create Image, spec 4.6: a scope of its own under /v1, with its own error body and its own rate limit. */
export async function createImageApi(app: App, options: CreateImageApiOptions): Promise<void> {
  app.setErrorHandler(handleErrors)
  registerAuthentication(app, options.authentication)
  await registerRateLimit(app, options.limit, ({ caller }) =>
    caller.keyKind === 'developer' ? `rate:create:key:${caller.keyId}` : `rate:create:${caller.account.id}`,
  )
  const createImages = imageCreation(options)
  generateRoutes(app, options.ports, createImages)
  // A scope of their own, for their own error handler.
  await app.register(async (scope: App) => openAiRoutes(scope, options.ports, createImages))
}
