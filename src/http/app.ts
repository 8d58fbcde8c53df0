import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
  type RawServerDefault,
} from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Logger } from 'pino'
import { type PageOptions, pages } from '../web/routes.js'
import { cdnRoutes } from './cdn-routes.js'
import { errorBody as createImageErrorBody } from './create-image-api/envelope.js'
import { type CreateImageApiOptions, createImageApi } from './create-image-api/plugin.js'
import { handleErrors, handleNotFound } from './errors.js'
import { healthRoutes } from './health-routes.js'
import { onlyOnHost } from './hosts.js'
import { errorBody as personalErrorBody } from './personal-api/envelope.js'
import { type PersonalApiOptions, personalApi } from './personal-api/plugin.js'

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
}

// Two prompts of 2000 code points, each written as a 12-byte escape, fit.
const BODY_LIMIT = 64 * 1024
const HEADERS_LIMIT = 16 * 1024

/** The HTTP server with both interfaces, pictures and health; not yet listening. */
export async function buildApp(options: AppOptions): Promise<App> {
  const app = createInstance(options)
  // Bodies are JSON: without this a text would be read, too, and only then be refused.
  app.removeContentTypeParser('text/plain')
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler((error, request, reply) => handleErrors(bodyFor(request.url))(error, request, reply))
  app.setNotFoundHandler((request, reply) => handleNotFound(bodyFor(request.url))(request, reply))
  logRequests(app)
  closeConnectionsWhenClosing(app)

  const apart = new URL(options.baseUrl).host !== new URL(options.apiBaseUrl).host
  healthRoutes(app, options.ready)
  await app.register(async (scope: App) => cdnRoutes(scope, options.storagePath))
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

export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

function createInstance({ log, trustedProxies }: AppOptions): App {
  return fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT,
    requestTimeout: 15_000,
    keepAliveTimeout: 20_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 2000, maxHeaderSize: HEADERS_LIMIT },
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

/** Paths outside both interfaces speak the Personal API's shape. */
const bodyFor = (url: string) => (/^\/v1(\/|\?|$)/.test(url) ? createImageErrorBody : personalErrorBody)

function logRequests(app: App): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
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

/** A connection that is kept alive would otherwise hold the shutdown until it idles out. */
function closeConnectionsWhenClosing(app: App): void {
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('connection', 'close')
  })
}

/** What Node's parser could not read as HTTP: there is no request yet, so the answer is written by hand. */
function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are larger than 16 KiB: shorten them.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request did not arrive in time: send it again.']
        : ['400 Bad Request', 'The request is not valid HTTP.']
  const body = JSON.stringify({ error: message })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${randomUUID()}\r\nConnection: close\r\n\r\n${body}`,
  )
}
