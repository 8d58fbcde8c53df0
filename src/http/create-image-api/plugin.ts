import type { ModelStore } from '../../catalog/model-version.js'
import type { Abilities } from '../../generation/failure-reason.js'
import type { TimeLeftPorts } from '../../generation/follow/eta.js'
import type { CreateImagePorts } from '../../generation/follow/wait.js'
import type { ImageStore, PictureFiles } from '../../generation/image-store.js'
import type { EndpointPorts } from '../../webhooks/endpoints.js'
import { type AuthenticationOptions, registerAuthentication } from '../authentication.js'
import { handleErrors } from '../errors.js'
import type { App } from '../fastify-app.js'
import { type RateLimitOptions, registerRateLimit } from '../rate-limit.js'
import { errorBody } from './envelope.js'
import { generateRoutes } from './generate-routes.js'
import { openAiRoutes } from './openai-routes.js'
import { pictureCreation } from './waiting.js'

export interface CreateImageApiOptions {
  readonly ports: CreateImagePorts &
    TimeLeftPorts & {
      readonly models: ModelStore
      readonly abilities: Abilities
      readonly images: ImageStore
      readonly files: PictureFiles
      readonly webhooks: EndpointPorts
    }
  readonly authentication: AuthenticationOptions
  readonly limit: Omit<RateLimitOptions, 'bucketOf'>
  /** How long an answer is waited for. */
  readonly timeoutSeconds: number
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
  /** How many answers are waited for at once; whoever comes beyond is refused. */
  readonly maxWaiting?: number | undefined
}

/** Create Image, spec 4.6: a scope of its own under /v1, with its own envelope and its own bucket. */
export async function createImageApi(app: App, options: CreateImageApiOptions): Promise<void> {
  app.setErrorHandler(handleErrors(errorBody))
  registerAuthentication(app, options.authentication)
  await registerRateLimit(app, {
    ...options.limit,
    bucketOf: ({ caller }) =>
      caller.keyKind === 'developer' ? `rate:create:key:${caller.keyId}` : `rate:create:${caller.account.id}`,
  })
  const createPictures = pictureCreation(options)
  generateRoutes(app, options.ports, createPictures)
  // A scope of their own, for their own error body.
  await app.register(async (scope: App) => openAiRoutes(scope, options.ports, createPictures))
}
