import { closest, distance } from 'fastest-levenshtein'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  AppError,
  endpointNotFound,
  invalidParameter,
  invalidUrl,
  methodNotAllowed,
  serviceUnavailable,
} from '../../core/errors.js'
import { isOutage } from '../../core/outage.js'
import { errorBody, isOpenAiPath, plainPath, statusOf } from './error-bodies.js'
import type { App } from './fastify-app.js'

/** Logs a failure that is the server's own, and answers it. Every error of every route ends here. */
export function handleErrors(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toAppError(thrown, request)
  if (error.code === 'internal') request.log.error({ err: thrown }, 'request failed')
  else if (error.code === 'unavailable' && !reply.raw.destroyed)
    request.log.warn({ err: thrown }, 'request could not be served')
  return answerError(error, reply)
}

/** The answer alone: status, headers and body. */
export function answerError(error: AppError, reply: FastifyReply): FastifyReply {
  // The path of the route, since a client may have written it percent-encoded.
  const target = reply.request.routeOptions.url ?? reply.request.url
  const { retryAfterSeconds, generationId } = error.detail
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  if (error.code === 'active_generation' && generationId)
    reply.header('x-active-generation', generationId).header('location', reply.server.pollUrl(generationId))
  if (error.code === 'unauthorized') reply.header('www-authenticate', 'Bearer')
  // What is not there may come: a CDN keeps an error that says nothing of it for minutes.
  return reply
    .code(statusOf(error.code))
    .header('x-error-code', error.code)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(error, target)))
}

/**
 * Answers 404 for a path that no route has, and 405 for one that takes other methods. Call before adding routes.
 * @param showPage answers browsers, outside of the interfaces
 */
export function handleNotFound(
  app: App,
  showPage: (error: AppError, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  const routes: { readonly url: string; readonly pattern: RegExp; readonly methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    // Only `:name` parameters: no route has another kind.
    const pattern = new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`)
    routes.push({ url, pattern, methods: [method].flat() })
  })
  const allowedOn = (path: string) => {
    const matching = routes.filter(({ pattern }) => pattern.test(path))
    return [...new Set(matching.flatMap(({ methods }) => methods))].sort()
  }
  const namedOn = (path: string) => routes.flatMap(({ url, methods }) => (url === path ? methods : []))
  // The router takes nothing for an ID, too.
  app.addHook('preValidation', (request, reply, next) => {
    if (Object.values(request.params as object).includes('')) reply.callNotFound()
    else next()
  })
  app.setNotFoundHandler((request, reply) => {
    const path = shortened(request.url.split('?', 1)[0] ?? '', 100)
    const plain = plainPath(path)
    const allowed = allowedOn(path)
    const { accept, 'service-worker': isOfPages } = request.headers
    const isPage =
      (accept?.includes('text/html') || isOfPages !== undefined) && !/^\/(admin|api|v1|cdn|mcp)(\/|$)/.test(plain)
    const show = isPage ? showPage : handleErrors
    const notFound = (advice?: string) => show(endpointNotFound(request.method, path, advice), request, reply)
    // Not served: rules of a proxy for the plain path would not hold for the other ways to write it.
    if (plain !== path && allowedOn(plain).includes(request.method)) return notFound(`Did you mean ${plain}?`)
    if (!isPage && !allowed.includes(request.method)) {
      // An ID may be called like an endpoint: /api/v1/images/generations.
      const takes = allowed.length > 0 ? namedOn : allowedOn
      const meant = underOtherPrefix(plain).find((other) => takes(other).includes(request.method))
      if (meant) return notFound(`Did you mean ${meant}?`)
    }
    if (allowed.length === 0) return notFound(isOpenAiPath(plain) ? ONLY_IMAGES : undefined)
    // The same path belongs to the other host.
    if (allowed.includes(request.method)) return notFound()
    const list = allowed.join(', ')
    return show(methodNotAllowed(request.method, path, list), request, reply.header('allow', list))
  })
}

/** Where the path may belong, if a client's base URL has a part too few or too many: /images/generations, /v1/v1/models. */
function underOtherPrefix(path: string): string[] {
  // A base URL may also be the whole endpoint already: /v1/images/generations/images/generations.
  const rest = path.replace(/^(?:\/(?:openai|api|v\d))+(?=\/)/i, '').replace(/^(\/[^/]+(?:\/[^/]+)?)\1$/, '$1')
  return rest.split('/').length > 3 ? [] : ['/v1', '/api/v1'].map((prefix) => `${prefix}${rest}`)
}

const ONLY_IMAGES = 'This server makes images from text and nothing else: use POST /v1/images/generations.'

/** What a client sent, as an error may show it. */
const shortened = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text)

/** What was thrown, as one of the service's own errors. */
export function toAppError(thrown: unknown, request: FastifyRequest): AppError {
  if (thrown instanceof AppError) return thrown
  const invalid = toInvalidParameter(thrown, request)
  if (invalid) return invalid
  const { code, statusCode = 500 } = (thrown ?? {}) as Partial<FastifyError>
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError('unsupported_media_type', 'Unsupported content type: send the body as application/json.')
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError(
        'payload_too_large',
        `The request body is larger than ${request.routeOptions.bodyLimit / 1024} KiB: shorten it.`,
      )
    case 'FST_ERR_BAD_URL':
      return invalidUrl()
  }
  // Before outages: a client that hangs up while it sends its body is an ECONNRESET, too.
  if (statusCode >= 400 && statusCode < 500)
    return new AppError('invalid_request', 'The request could not be understood: check its headers and body.')
  if (isOutage(thrown)) return serviceUnavailable(5, thrown)
  return new AppError(
    'internal',
    'Internal server error. Try again; if it stays, report the x-request-id of this answer.',
  )
}

/** The names that clients of other services use for our fields. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  batch_size: ['n', 'num_images', 'images', 'count', 'batch'],
  model_version_id: ['model', 'model_id', 'version', 'version_id'],
  model: ['model_version_id', 'model_id', 'model_name'],
  cfg_scale: ['guidance_scale', 'guidance', 'cfg'],
  steps: ['num_inference_steps', 'sample_steps'],
  sampler: ['sampler_name', 'scheduler', 'sample_method'],
  prompt: ['text', 'input'],
  width: ['size'],
}

/** The first mistake in a request, as one sentence and the field's name. */
function toInvalidParameter(thrown: unknown, request: FastifyRequest): AppError | undefined {
  if (!hasZodFastifySchemaValidationErrors(thrown)) return undefined
  const { validation: issues, validationContext } = thrown
  // A misspelt field may be why another one is missing, so it comes first.
  const unknown = issues.find(({ keyword }) => keyword === 'unrecognized_keys')
  if (unknown) {
    const [key = ''] = (unknown.params as { keys?: string[] }).keys ?? []
    const place = validationContext === 'querystring' ? 'querystring' : 'body'
    const kind = place === 'body' ? 'field' : 'query parameter'
    return unknownField(key, request.routeOptions.schema?.[place], kind)
  }
  const [first] = issues
  const parameter = first?.instancePath.split('/').filter(Boolean).join('.') || 'body'
  return invalidParameter(parameter, first?.message ?? 'The request is not valid.')
}

/** Says which field of the schema was probably meant. */
export function unknownField(key: string, schema: unknown, kind = 'field'): AppError {
  const meant = likelyField(key.slice(0, 50), knownFields(schema))
  const shown = shortened(key, 50)
  const advice = meant ? `did you mean "${meant}"?` : 'remove it or check its name.'
  return invalidParameter(shown, `Unknown ${kind} "${shown}": ${advice}`)
}

function likelyField(key: string, known: readonly string[]): string | undefined {
  const name = key
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/[-\s]/g, '_')
    .toLowerCase()
  const alias = known.find((field) => field === name || ALIASES[field]?.includes(name))
  if (alias || known.length === 0) return alias
  const nearest = closest(name, known)
  return distance(name, nearest) <= Math.max(1, Math.floor(nearest.length / 3)) ? nearest : undefined
}

function knownFields(schema: unknown): string[] {
  if (schema instanceof z.ZodPipe) return knownFields(schema.in)
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}
