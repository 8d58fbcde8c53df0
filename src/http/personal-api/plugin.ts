import type { ModelStore } from '../../catalog/model-version.js'
import { developerKeyRefused } from '../../errors.js'
import type { CancelPorts } from '../../generation/cancel.js'
import type { ImageStore, PictureFiles } from '../../generation/image-store.js'
import type { HistoryStore, LedgerStore } from '../../generation/library/history.js'
import type { PictureRemovals } from '../../generation/library/remove-picture.js'
import type { SubmitPorts } from '../../generation/submit/submission.js'
import type { EndpointPorts } from '../../webhooks/endpoints.js'
import { type AuthenticationOptions, registerAuthentication } from '../authentication.js'
import { dropBodies } from '../bodiless.js'
import { handleErrors } from '../errors.js'
import type { App } from '../fastify-app.js'
import { type RateLimitOptions, registerRateLimit } from '../rate-limit.js'
import { watchRevocations } from '../revocation.js'
import { accountRoutes } from './account-routes.js'
import { cancelRoutes } from './cancel-routes.js'
import { capabilitiesRoutes } from './capabilities-routes.js'
import { creditsRoutes } from './credits-routes.js'
import { errorBody } from './envelope.js'
import { eventRoutes, type StreamTimes } from './event-routes.js'
import { type FollowRoutePorts, followRoutes } from './follow-routes.js'
import { generateRoutes } from './generate-routes.js'
import { generationsRoutes } from './generations-routes.js'
import { imageRemovalRoutes, imagesRoutes } from './images-routes.js'
import { modelsRoutes } from './models-routes.js'
import { moderateRoutes } from './moderate-routes.js'
import { webhookActionRoutes, webhookRoutes } from './webhook-routes.js'

export interface LookBackPorts {
  readonly history: HistoryStore
  readonly ledger: LedgerStore
  readonly removals: PictureRemovals
}

export interface PersonalApiOptions {
  readonly ports: SubmitPorts &
    FollowRoutePorts &
    CancelPorts &
    LookBackPorts & {
      readonly models: ModelStore
      readonly images: ImageStore
      readonly files: PictureFiles
      readonly webhooks: EndpointPorts
    }
  readonly authentication: AuthenticationOptions
  readonly limit: Omit<RateLimitOptions, 'bucketOf'>
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
  /** Only for tests, which can't wait so long. */
  readonly streamTimes?: StreamTimes | undefined
}

/** The Personal Access API, spec 4.1 to 4.5: one encapsulated scope under /api/v1. */
export async function personalApi(
  app: App,
  { ports, authentication, limit, leaving, streamTimes }: PersonalApiOptions,
): Promise<void> {
  app.setErrorHandler(handleErrors(errorBody))
  const revocation = watchRevocations(app, registerAuthentication(app, authentication))
  await registerRateLimit(app, { ...limit, bucketOf: ({ caller }) => `rate:personal:${caller.account.id}` })
  // The first hook after the limiter and before the body is read.
  app.addHook('preParsing', async ({ caller }) => {
    if (caller.keyKind === 'developer') throw developerKeyRefused()
  })
  accountRoutes(app)
  modelsRoutes(app, ports.models)
  generateRoutes(app, ports)
  followRoutes(app, ports, leaving, revocation)
  eventRoutes(app, ports, revocation, streamTimes)
  await app.register(async (scope: App) => {
    dropBodies(scope)
    cancelRoutes(scope, ports)
    imageRemovalRoutes(scope, ports)
    webhookActionRoutes(scope, ports.webhooks)
  })
  moderateRoutes(app, ports)
  capabilitiesRoutes(app, ports.models, limit)
  generationsRoutes(app, ports)
  imagesRoutes(app, ports)
  creditsRoutes(app, ports.ledger)
  webhookRoutes(app, ports.webhooks)
}
