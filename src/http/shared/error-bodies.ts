/** The error bodies of each interface, and the name of every error code in them. */
import { z } from 'zod'
import type { AppError, ErrorCode } from '../../core/errors.js'

type ErrorMapping = readonly [status: number, createImageCode: string, openAiType: string, openAiCode: string]

/** The HTTP status of every error code, and its names: Create Image has fewer (spec 7.2), OpenAI has its own. */
const ERROR_MAPPINGS: Readonly<Record<ErrorCode, ErrorMapping>> = {
  unauthorized: [401, 'unauthorized', 'invalid_request_error', 'invalid_api_key'],
  forbidden: [403, 'forbidden', 'permission_error', 'forbidden'],
  invalid_request: [400, 'invalid_parameter', 'invalid_request_error', 'invalid_parameter'],
  payload_too_large: [413, 'invalid_parameter', 'invalid_request_error', 'payload_too_large'],
  unsupported_media_type: [415, 'invalid_parameter', 'invalid_request_error', 'unsupported_media_type'],
  not_found: [404, 'not_found', 'invalid_request_error', 'not_found'],
  method_not_allowed: [405, 'method_not_allowed', 'invalid_request_error', 'method_not_allowed'],
  precondition_failed: [412, 'invalid_parameter', 'invalid_request_error', 'precondition_failed'],
  not_acceptable: [406, 'invalid_parameter', 'invalid_request_error', 'not_acceptable'],
  subscription_required: [403, 'forbidden', 'permission_error', 'subscription_required'],
  model_unavailable: [403, 'forbidden', 'permission_error', 'model_unavailable'],
  content_policy_violation: [400, 'content_policy_violation', 'invalid_request_error', 'content_policy_violation'],
  insufficient_credits: [402, 'insufficient_credits', 'insufficient_quota', 'insufficient_quota'],
  active_generation: [429, 'rate_limit_exceeded', 'requests', 'rate_limit_exceeded'],
  rate_limited: [429, 'rate_limit_exceeded', 'requests', 'rate_limit_exceeded'],
  too_many_streams: [429, 'rate_limit_exceeded', 'requests', 'rate_limit_exceeded'],
  idempotency_mismatch: [422, 'idempotency_conflict', 'invalid_request_error', 'idempotency_conflict'],
  idempotency_in_flight: [409, 'idempotency_conflict', 'invalid_request_error', 'idempotency_conflict'],
  generation_failed: [500, 'generation_failed', 'server_error', 'generation_failed'],
  timeout: [504, 'timeout', 'server_error', 'timeout'],
  unavailable: [503, 'unavailable', 'server_error', 'unavailable'],
  internal: [500, 'internal_error', 'server_error', 'internal_error'],
}

export const statusOf = (code: ErrorCode): number => ERROR_MAPPINGS[code][0]

/** What OpenAI has below /v1, whether it is served here or not; Create Image is ours. */
const OPENAI_PATH = new RegExp(
  `^/v1/(images/(?!generate(/|$)).|(${[
    ...['assistants', 'audio', 'batches', 'chat', 'chatkit', 'completions', 'containers', 'conversations', 'edits'],
    ...['embeddings', 'engines', 'evals', 'files', 'fine_tuning', 'fine-tunes', 'models', 'moderations'],
    ...['organization', 'projects', 'realtime', 'responses', 'skills', 'threads', 'uploads', 'vector_stores', 'videos'],
  ].join('|')})(/|$))`,
)
export const isOpenAiPath = (path: string): boolean => OPENAI_PATH.test(path)

/** The path of a request's target, without the slashes that are doubled or at its end. */
export const plainPath = (target: string): string =>
  (target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0] ?? '').replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')

/** The error body of the interface that a request's target belongs to; every other path answers as the Personal API. */
export function errorBody(error: AppError, target: string): object {
  const path = plainPath(target)
  if (isOpenAiPath(path)) return openAiErrorBody(error)
  if (path === '/mcp') return jsonRpcErrorBody(error)
  // Spec 7.1.
  return /^\/v1(\/|$)/.test(path) ? createImageErrorBody(error) : { error: error.message }
}

/** JSON drops what is undefined. */
export const createImageErrorBody = ({ code, message, detail }: AppError) => ({
  success: false,
  error: { code: ERROR_MAPPINGS[code][1], message, parameter: detail.parameter, retry_after: detail.retryAfterSeconds },
})

function openAiErrorBody({ code, message, detail: { parameter } }: AppError): object {
  const [, , type, openAiCode] = ERROR_MAPPINGS[code]
  const isModel = code === 'not_found' && parameter === 'model'
  return { error: { message, type, param: parameter ?? null, code: isModel ? 'model_not_found' : openAiCode } }
}

const PARSE_ERROR = -32700
const REFUSED = -32000

/** What is refused before it is read as a message has no ID to answer to. */
const jsonRpcErrorBody = ({ code, message }: AppError) => ({
  jsonrpc: '2.0',
  id: null,
  error: { code: code === 'invalid_request' ? PARSE_ERROR : REFUSED, message },
})

/** Any request can be refused with these; with 403 where the key is of another kind than the endpoint takes. */
const ALWAYS = [401, 403, 429, 500, 503] as const

/** Makes a function that describes refusals with the given statuses, and those that any request can meet. */
const refusalsOf =
  <P extends z.ZodType>(body: P) =>
  <const S extends number>(...statuses: S[]) =>
    Object.fromEntries([...statuses, ...ALWAYS].map((status) => [status, body])) as Record<
      S | (typeof ALWAYS)[number],
      P
    >

const sentence = z.string().describe('One sentence that says what to do')
const stableCode = 'A stable code for programs'
const fieldAtFault = 'The offending field of the request'

export const personalRefusals = refusalsOf(
  z.object({ error: sentence }).meta({ id: 'Problem', examples: [{ error: 'Generation not found: check the ID.' }] }),
)

const EXAMPLE_PROBLEM = {
  code: 'invalid_parameter',
  message: 'steps must be an integer from 20 to 50.',
  parameter: 'steps',
} as const

export const createImageRefusals = refusalsOf(
  z
    .object({
      success: z.literal(false),
      error: z.object({
        code: z.enum([...new Set(Object.values(ERROR_MAPPINGS).map(([, code]) => code))]).describe(stableCode),
        message: sentence,
        parameter: z.string().optional().describe(fieldAtFault),
        retry_after: z.int().min(1).optional().describe('Seconds to wait before the next try'),
      }),
    })
    .meta({ id: 'CreateImageProblem', examples: [{ success: false, error: EXAMPLE_PROBLEM }] }),
)

const EXAMPLE_OPENAI_PROBLEM = {
  message: 'Model "dall-e-3" is not installed on this server. Choose another model.',
  type: 'invalid_request_error',
  param: 'model',
  code: 'model_not_found',
}

export const openAiRefusals = refusalsOf(
  z
    .object({
      error: z.object({
        message: sentence,
        type: z.string(),
        param: z.string().nullable().describe(fieldAtFault),
        code: z.string().describe(stableCode),
      }),
    })
    .meta({ id: 'OpenAiProblem', examples: [{ error: EXAMPLE_OPENAI_PROBLEM }] }),
)
