import { randomUUID } from 'node:crypto'
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify'
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Logger } from 'pino'
import { AppError } from '../errors.js'
import { type PageOptions, pages } from '../web/routes.js'
import { registerAdmission } from './admission.js'
import { cdnRoutes } from './cdn-routes.js'
import { type ConnectionLimits, shareConnections } from './connections.js'
import { type CreateImageApiOptions, createImageApi } from './create-image-api/plugin.js'
import { type Draining, endConnections } from './draining.js'
import { bodyFor } from './error-shape.js'
import { handleErrors, handleNotFound } from './errors.js'
import type { App } from './fastify-app.js'
import { healthRoutes } from './health-routes.js'
import { onlyOnHost } from './hosts.js'
import { noteMethods } from './methods.js'
import { describeApi } from './openapi.js'
import { type PersonalApiOptions, personalApi } from './personal-api/plugin.js'
import type { PlaceLimits } from './places.js'
import { answerUnreadable, noteRequest, refuseTunnel } from './unreadable.js'

export interface AppOptions {
  readonly log: Logger
  readonly trustedProxies: readonly string[]
  readonly baseUrl: string
  readonly apiBaseUrl: string
  /** The directory that /cdn serves. */
  readonly storagePath: string
  readonly personal: PersonalApiOptions
  readonly createImage: CreateImageApiOptions
  readonly pages: PageOptions
  /** Whether requests should be sent here now. */
  readonly ready: () => Promise<boolean>
  readonly moderationIsSilent: () => boolean
  readonly draining: Draining
  /** Only for tests, which cannot flood a server with as much as it takes. */
  readonly places?: PlaceLimits | undefined
  readonly connections?: ConnectionLimits
}

// Two prompts of 2000 code points, each written as a 12-byte escape, fit.
const BODY_LIMIT = 64 * 1024
const HEADERS_LIMIT = 16 * 1024
/** Longer than any answer is waited for: a connection on which nothing moves for so long is one that nobody reads. */
const STANDSTILL_MS = 150_000

/** The HTTP server with both interfaces, pictures and health; not yet listening. */
export async function buildApp(options: AppOptions): Promise<App> {
  const app = createInstance(options)
  // Bodies are JSON: without this a text would be read, too, and only then be refused.
  app.removeContentTypeParser('text/plain')
  app.setValidatorCompiler(validatorCompiler)
  // The schemas of answers describe and type them; what is sent is exactly what a route returns.
  app.setSerializerCompiler(() => JSON.stringify)
  app.decorate('pollUrl', (id: string) => `${options.baseUrl}/api/v1/generate/${id}`)
  app.decorate('pageUrl', (slug: string) => `${options.baseUrl}/image/${slug}`)
  app.setErrorHandler((error, request, reply) => handleErrors(bodyFor(request.url))(error, request, reply))
  app.setNotFoundHandler((request, reply) => handleNotFound(bodyFor(request.url))(request, reply))
  noteMethods(app)
  logRequests(app)
  registerAdmission(app, options.log, options.places)
  requireHost(app)
  endConnections(app, options.draining)
  shareConnections(app, options.log, options.trustedProxies, options.connections)
  app.server.on('request', noteRequest)
  app.server.on('connect', refuseTunnel)
  // Without this Node refuses what it doesn't expect with an empty 417; a server may as well ignore it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  const apart = new URL(options.baseUrl).host !== new URL(options.apiBaseUrl).host
  await describeApi(app, options)
  healthRoutes(app, options.ready, options.moderationIsSilent)
  await app.register(async (scope: App) => cdnRoutes(scope, options.storagePath, options.pages.pictures))
  await app.register(async (scope: App) => {
    if (apart) onlyOnHost(scope, options.baseUrl)
    await scope.register(personalApi, { ...options.personal, prefix: '/api/v1' })
    await scope.register(pages, options.pages)
  })
  await app.register(async (scope: App) => {
    if (apart) onlyOnHost(scope, options.apiBaseUrl)
    await scope.register(createImageApi, { ...options.createImage, prefix: '/v1' })
  })
  return app
}

function createInstance({ log, trustedProxies }: AppOptions): App {
  return fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT,
    connectionTimeout: STANDSTILL_MS,
    requestTimeout: 15_000,
    keepAliveTimeout: 65_000,
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 2000,
      maxHeaderSize: HEADERS_LIMIT,
      // Its own refusal has no body; requireHost has one.
      requireHostHeader: false,
    },
    // While closing, what arrives on open connections is still served.
    return503OnClosing: false,
    // However long, an id that is none is answered by its route: after authentication and with the same 404 as any other.
    routerOptions: { maxParamLength: HEADERS_LIMIT },
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    frameworkErrors: (error, request, reply) => {
      // Outside every scope and hook, so that nothing else would set the id.
      reply.header('x-request-id', request.id)
      handleErrors(bodyFor(request.url))(error, request as FastifyRequest, reply as unknown as FastifyReply)
    },
    clientErrorHandler: answerUnreadable,
  }).withTypeProvider<ZodTypeProvider>()
}

function logRequests(app: App): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    if (request.turnedAway) return
    const facts = {
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      userId: (request.caller as typeof request.caller | null | undefined)?.account.id,
    }
    // Polls that went well are many and say little.
    if (request.method === 'GET' && reply.statusCode < 400) request.log.debug(facts, 'request answered')
    else request.log.info(facts, 'request answered')
  })
}

function requireHost(app: App): void {
  app.addHook('onRequest', async ({ raw }) => {
    const refuse = (message: string) => {
      throw new AppError('invalid_request', message)
    }
    if (!raw.httpVersion.startsWith('1.')) refuse('The request line does not end with "HTTP/1.1": write it so.')
    const hosts = raw.headersDistinct.host?.length ?? 0
    if (hosts > 1) refuse('The request has more than one Host header: send one.')
    if (hosts === 0 && raw.httpVersion === '1.1') refuse('The request has no Host header: send one.')
  })
}
