import type { FastifyRequest } from 'fastify'
import { AppError, developerKeyRefused } from '../core/errors.js'
import { type AuthenticationOptions, registerAuthentication, watchRevocations } from '../http/shared/authentication.js'
import type { App } from '../http/shared/fastify-app.js'
import { type RateLimit, registerRateLimit } from '../http/shared/rate-limit.js'
import { type McpEndpointOptions, mcpEndpoint } from './mcp-endpoint.js'

interface McpOptions extends McpEndpointOptions {
  readonly authentication: AuthenticationOptions
  readonly limit: RateLimit
  /** Pages of its origin may call. */
  readonly baseUrl: string
  /** Other origins whose pages may. */
  readonly allowedOrigins: readonly string[]
}

/** What a request to `/mcp` must pass: its page's origin, then its key, then the rate limit. */
export const mcp = (options: McpOptions) => async (app: App) => {
  const { baseUrl, allowedOrigins } = options
  const origins = [new URL(baseUrl).origin, ...allowedOrigins]
  // First, so that a page of another website does not even learn whether a key is good. The specification asks for it.
  app.addHook('onRequest', ({ headers: { origin } }, reply, next) => {
    if (origin === undefined) return next()
    if (!origins.includes(origin)) return next(foreignPage())
    reply.headers({ ...READABLE_BY_PAGES, 'access-control-allow-origin': origin })
    next()
  })
  if (allowedOrigins.length > 0)
    app.options('/mcp', ({ headers }, reply) =>
      reply
        .headers({
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
          'access-control-max-age': 600,
        })
        .code(204)
        .send(),
    )
  await app.register(withKey(options))
}

/** A scope of its own: the request that a browser sends ahead has no key. */
const withKey = (options: McpOptions) => async (app: App) => {
  const keyRevoked = watchRevocations(app, registerAuthentication(app, options.authentication))
  await registerRateLimit(
    app,
    options.limit,
    (request) => `rate:${isGreeting(request) ? 'greeting' : 'personal'}:${request.caller.account.id}`,
    { timesOf: (request) => (isGreeting(request) ? GREETINGS : 1) },
  )
  app.addHook('preParsing', ({ caller }, _reply, payload, next) =>
    caller.keyKind === 'developer' ? next(developerKeyRefused()) : next(null, payload),
  )
  mcpEndpoint(app, options, keyRevoked)
}

/** What each client asks before anything is done. Several clients of one account may be started at once. */
const GREETING = ['initialize', 'notifications/initialized', 'ping', 'tools/list']
/** How many times as often as other requests: of twenty clients at once. */
const GREETINGS = 6

const isGreeting = ({ body }: FastifyRequest): boolean =>
  GREETING.includes((body as { readonly method?: string } | null | undefined)?.method ?? '')

/** Headers of answers that a page of another origin may see. */
const READABLE_BY_PAGES = {
  'access-control-expose-headers': 'mcp-session-id, retry-after, x-request-id',
  vary: 'origin',
}

const foreignPage = () =>
  new AppError(
    'forbidden',
    'Pages of other websites may not call this server: use a program, or ask its operator to add the origin to MCP_ALLOWED_ORIGINS.',
  )
