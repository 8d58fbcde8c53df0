import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type ErrorCode, endpointNotFound, methodNotAllowed, serviceUnavailable } from '../errors.js'
import { isOutage } from '../outage.js'
import { toInvalidParameter } from './validation.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Where a generation can be polled. */
    pollUrl(generationId: string): string
    /** The methods that the path answers. */
    methodsOf(path: string): readonly string[]
  }
}

/** The only place where a refusal meets an HTTP status. */
export const STATUS: Readonly<Record<ErrorCode, number>> = {
  unauthorized: 401,
  forbidden: 403,
  invalid_request: 400,
  payload_too_large: 413,
  unsupported_media_type: 415,
  not_found: 404,
  method_not_allowed: 405,
  subscription_required: 403,
  model_unavailable: 403,
  content_policy_violation: 400,
  insufficient_credits: 402,
  active_generation: 429,
  rate_limited: 429,
  too_many_streams: 429,
  idempotency_mismatch: 422,
  idempotency_in_flight: 409,
  generation_failed: 500,
  timeout: 504,
  unavailable: 503,
  internal: 500,
}

/** An interface's error body. */
export type BodyOf = (error: AppError) => object

/** One road for every failure; only the body differs per interface. */
export const handleErrors =
  (bodyOf: BodyOf) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    sendError(toAppError(thrown, request), bodyOf, request, reply, thrown)

export const handleNotFound =
  (bodyOf: BodyOf) =>
  (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = pathOf(request)
    const methods = request.server.methodsOf(path)
    // A path of the other host has this very method.
    if (methods.length === 0 || methods.includes(request.method))
      return sendError(endpointNotFound(request.method, path), bodyOf, request, reply)
    const allowed = methods.join(', ')
    return sendError(methodNotAllowed(request.method, path, allowed), bodyOf, request, reply.header('allow', allowed))
  }

function sendError(
  error: AppError,
  bodyOf: BodyOf,
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown = error,
): FastifyReply {
  if (error.code === 'internal') request.log.error({ err: thrown }, 'request failed')
  else if (error.code === 'unavailable' && !reply.raw.destroyed)
    request.log.warn({ err: thrown }, 'request could not be served')
  return answerError(error, bodyOf, reply)
}

/** The answer alone: status, headers and body. */
export function answerError(error: AppError, bodyOf: BodyOf, reply: FastifyReply): FastifyReply {
  const { retryAfterSeconds, generationId } = error.detail
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  if (error.code === 'active_generation' && generationId) {
    reply.header('x-active-generation', generationId).header('location', reply.server.pollUrl(generationId))
  }
  if (error.code === 'unauthorized') reply.header('www-authenticate', 'Bearer')
  return reply
    .code(STATUS[error.code])
    .header('x-error-code', error.code)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(bodyOf(error)))
}

export function toAppError(thrown: unknown, request: FastifyRequest): AppError {
  if (thrown instanceof AppError) return thrown
  const invalid = toInvalidParameter(thrown, request)
  if (invalid) return invalid
  const { code, statusCode } = thrown as Partial<FastifyError>
  switch (code) {
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new AppError('invalid_request', 'The request body is not valid JSON: send a JSON object.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError('unsupported_media_type', 'Unsupported content type: send the body as application/json.')
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('payload_too_large', 'The request body is larger than 64 KiB: shorten it.')
    case 'FST_ERR_BAD_URL':
      return new AppError('invalid_request', 'The URL is not validly encoded.')
  }
  // Before outages: a client that hangs up amid its body is an ECONNRESET, too.
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AppError('invalid_request', 'The request could not be understood: check its headers and body.')
  }
  if (isOutage(thrown)) return serviceUnavailable(5, thrown)
  return new AppError(
    'internal',
    'Internal server error. Try again; if it stays, report the x-request-id of this answer.',
  )
}

/** Without the query, and short: it is shown in an error. */
const pathOf = ({ url }: FastifyRequest): string => {
  const path = url.split('?', 1)[0] ?? ''
  return path.length > 100 ? `${path.slice(0, 100)}…` : path
}
