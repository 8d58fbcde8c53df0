import { randomUUID } from 'node:crypto'
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Logger } from 'pino'
import { AppError } from '../../core/errors.js'
import { GENERATION_ID } from '../../core/generations/generation.js'
import type { HiddenImages } from '../../core/images/hidden-images.js'
import type { OpenPublicFile, PublishedImages } from '../../core/images/ports.js'
import { occasionally } from '../../core/log.js'
import type { Release } from '../../core/release.js'
import type { Site } from '../../core/site.js'
import { type AdminApiOptions, adminApi } from '../admin-api/plugin.js'
import { type BillingOptions, billingRoutes } from '../billing/billing-routes.js'
import { type CreateImageApiOptions, createImageApi } from '../create-image-api/plugin.js'
import { cdnRoutes } from '../images/cdn-routes.js'
import { type UploadOptions, uploadRoutes } from '../images/upload-routes.js'
import { type PersonalApiOptions, personalApi } from '../personal-api/plugin.js'
import type { Descriptions } from '../shared/api-descriptions.js'
import { handleErrors, handleNotFound } from '../shared/error-responses.js'
import { type App, schemaController } from '../shared/fastify-app.js'
import type { PrivateImages } from '../shared/private-images.js'
import { type AdmissionLimits, dropFloods, registerAdmission } from './admission.js'
import { type ConnectionLimits, limitConnections } from './connection-limits.js'
import { type Draining, endConnections } from './drain.js'
import { healthRoutes, versionRoute } from './health-routes.js'
import { answerUnreadable, noteRequest, refuseTunnel, requireUtf8 } from './malformed-requests.js'
import { describeApi } from './openapi.js'
import { logSetUpHints } from './set-up-hints.js'

/** The website, which imports this interface: it lies above it. */
export interface Website {
  pages(app: App, describe: Descriptions): Promise<void>
  /** Answers a browser that asks for what no route has, or in a way that it does not take. */
  notFound(error: AppError, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  /** Who is signed in, for what has no page. */
  viewerOf: PrivateImages['viewerOf']
}

export interface AppOptions {
  readonly log: Logger
  /** Adds hooks that see each request first and last. */
  readonly observe?: ((app: App) => void) | undefined
  readonly trustedProxies: readonly string[]
  readonly site: Site
  readonly baseUrl: string
  readonly apiBaseUrl: string
  /** What /cdn serves to everybody, and to some. */
  readonly openFile: OpenPublicFile
  readonly hiddenImages: Pick<HiddenImages, 'isHidden'>
  readonly privateImages: Omit<PrivateImages, 'viewerOf'>
  /** Where workers have no key of the bucket. */
  readonly uploads?: UploadOptions | undefined
  /** Where something is sold. */
  readonly billing?: BillingOptions | undefined
  readonly personal: PersonalApiOptions
  readonly createImage: CreateImageApiOptions
  readonly admin: AdminApiOptions
  readonly publishedImages: PublishedImages
  readonly website: Website
  /** The door for agents, which lies above this interface, too. */
  readonly agents: (app: App) => Promise<void>
  /** Whether requests should be sent here now. */
  readonly ready: () => Promise<boolean>
  readonly moderationIsSilent: () => boolean
  readonly release: Release
  readonly draining: Draining
  /** Only for tests, which cannot send as many requests as a server takes. */
  readonly slots?: AdmissionLimits | undefined
  readonly connections?: ConnectionLimits
}

// Fits two prompts of 2000 code points, each of them written as a 12-byte escape.
const BODY_LIMIT = 64 * 1024
const HEADERS_LIMIT = 16 * 1024
/** Longer than any answer takes: after so long without traffic, nobody is there any more. */
const IDLE_LIMIT_MS = 150_000

/** The HTTP server with both interfaces, images, pages and health checks; not yet listening. */
export async function buildApp(options: AppOptions): Promise<App> {
  const app = createInstance(options)
  app.decorate('pollUrl', (id: string) => `${options.baseUrl}/api/v1/generate/${id}`)
  app.decorate('pageUrl', (slug: string) => `${options.baseUrl}/image/${slug}`)
  app.decorate('site', options.site)
  app.setErrorHandler(handleErrors)
  handleNotFound(app, options.website.notFound)
  options.observe?.(app)
  logRequests(app)
  registerAdmission(app, options.slots)
  requireHost(app)
  requireUtf8(app)
  endConnections(app, options.draining)
  limitConnections(app, options.trustedProxies, options.connections)
  logSetUpHints(app, options)
  app.server.on('request', noteRequest)
  dropFloods(app.server)
  app.server.on('connect', refuseTunnel)
  // A server may ignore an Expect header that it does not know; Node would answer an empty 417.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  const hostsDiffer = new URL(options.baseUrl).host !== new URL(options.apiBaseUrl).host
  const describe = describeApi(app, options)
  healthRoutes(app, options.ready, options.moderationIsSilent)
  versionRoute(app, options.release)
  const { uploads } = options
  if (uploads) await app.register(async (scope: App) => uploadRoutes(scope, uploads), { prefix: '/internal/uploads' })
  const { billing } = options
  if (billing) await app.register(async (scope: App) => billingRoutes(scope, billing))
  const { openFile: open, publishedImages: images, hiddenImages: hidden } = options
  const privateImages = { ...options.privateImages, viewerOf: options.website.viewerOf }
  await app.register(async (scope: App) => cdnRoutes(scope, { open, images, hidden, privateImages }))
  await app.register(async (scope: App) => {
    if (hostsDiffer) onlyOnHost(scope, options.baseUrl)
    await scope.register(personalApi, { ...options.personal, prefix: '/api/v1' })
    await scope.register(adminApi, { ...options.admin, prefix: '/admin/v1' })
    await scope.register(options.agents)
    await scope.register((pages: App) => options.website.pages(pages, describe))
  })
  await app.register(async (scope: App) => {
    if (hostsDiffer) onlyOnHost(scope, options.apiBaseUrl)
    await scope.register(createImageApi, { ...options.createImage, prefix: '/v1' })
  })
  return app
}

function createInstance({ log, trustedProxies }: AppOptions): App {
  const warn = occasionally<string>((_times, sentence) => log.warn(sentence))
  return fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    schemaController,
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT,
    connectionTimeout: IDLE_LIMIT_MS,
    requestTimeout: 15_000,
    keepAliveTimeout: 65_000,
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 2000,
      maxHeaderSize: HEADERS_LIMIT,
      // Node's own refusal has no body; that of requireHost has one.
      requireHostHeader: false,
    },
    // While the server closes, requests on open connections are still served.
    return503OnClosing: false,
    // An ID of any length reaches its route: authentication comes first, then the same 404 as for any other ID.
    routerOptions: { maxParamLength: HEADERS_LIMIT },
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for these requests, so nothing else sets the ID.
      reply.header('x-request-id', request.id)
      handleErrors(error, request as FastifyRequest, reply as unknown as FastifyReply)
    },
    clientErrorHandler: (error, socket) => answerUnreadable(error, socket, warn),
  }).withTypeProvider<ZodTypeProvider>()
}

function logRequests(app: App): void {
  app.decorateRequest('generationId', undefined)
  app.addHook('onRequest', (request, reply, next) => {
    reply.header('x-request-id', request.id)
    next()
  })
  app.addHook('onResponse', (request, reply, next) => {
    next()
    if (request.turnedAway) return
    const caller = request.caller as typeof request.caller | null | undefined
    const isOperator = caller?.keyKind === 'operator'
    const facts = {
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      generationId: request.generationId ?? idIn(request.params),
      userId: caller?.account.id,
      keyId: isOperator ? caller?.keyId : undefined,
    }
    // Successful polls are many and say little.
    if (request.method === 'GET' && reply.statusCode < 400 && !isOperator) request.log.debug(facts, 'request answered')
    else request.log.info(facts, 'request answered')
  })
}

/** A generation that the path names. */
const idIn = (params: unknown): string | undefined => {
  const { id } = (params ?? {}) as { readonly id?: unknown }
  return typeof id === 'string' && GENERATION_ID.test(id) ? id : undefined
}

/** Routes declared after this in the scope answer on the host of `url` alone. */
function onlyOnHost(app: App, url: string): void {
  const { hostname, port, protocol } = new URL(url)
  const name = hostname.replace(/[.[\]]/g, '\\$&')
  // A client may write the default port or leave it out.
  const suffix = port ? `:${port}` : `(:${protocol === 'https:' ? 443 : 80})?`
  const host = new RegExp(`^${name}${suffix}$`, 'i')
  app.addHook('onRoute', (route) => {
    route.constraints = { ...route.constraints, host }
  })
}

function requireHost(app: App): void {
  app.addHook('onRequest', ({ raw: { httpVersion, headers, rawHeaders } }, _reply, next) => {
    const refuse = (mistake: string) => next(new AppError('invalid_request', mistake))
    if (!httpVersion.startsWith('1.')) return refuse('The request line does not end with "HTTP/1.1": write it so.')
    if (headers.host === undefined && httpVersion === '1.1') return refuse('The request has no Host header: send one.')
    // `headers` keeps the first of them.
    const names = rawHeaders.filter((text, i) => i % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host')
    if (names.length > 1) return refuse('The request has more than one Host header: send one.')
    next()
  })
}
