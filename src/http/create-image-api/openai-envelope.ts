import { z } from 'zod'
import type { AppError, ErrorCode } from '../../errors.js'
import { refusalsWith } from '../refusals.js'

/** The paths that speak OpenAI's shape, whatever refuses them. */
const PATHS = ['/v1/images/generations', '/v1/models']

export const isOpenAiPath = (path: string): boolean => PATHS.includes(path.split('?', 1)[0] ?? '')

interface Words {
  readonly type: string
  readonly code: string
}

const invalid = (code: string): Words => ({ type: 'invalid_request_error', code })

/** OpenAI's words for what its clients know, ours for the rest. */
const WORDS: Readonly<Record<ErrorCode, Words>> = {
  unauthorized: invalid('invalid_api_key'),
  forbidden: { type: 'permission_error', code: 'forbidden' },
  invalid_request: invalid('invalid_parameter'),
  payload_too_large: invalid('payload_too_large'),
  unsupported_media_type: invalid('unsupported_media_type'),
  not_found: invalid('not_found'),
  method_not_allowed: invalid('method_not_allowed'),
  subscription_required: { type: 'permission_error', code: 'subscription_required' },
  model_unavailable: { type: 'permission_error', code: 'model_unavailable' },
  content_policy_violation: invalid('content_policy_violation'),
  insufficient_credits: { type: 'insufficient_quota', code: 'insufficient_quota' },
  active_generation: { type: 'requests', code: 'rate_limit_exceeded' },
  rate_limited: { type: 'requests', code: 'rate_limit_exceeded' },
  too_many_streams: { type: 'requests', code: 'rate_limit_exceeded' },
  idempotency_mismatch: invalid('idempotency_conflict'),
  idempotency_in_flight: invalid('idempotency_conflict'),
  generation_failed: { type: 'server_error', code: 'generation_failed' },
  timeout: { type: 'server_error', code: 'timeout' },
  unavailable: { type: 'server_error', code: 'unavailable' },
  internal: { type: 'server_error', code: 'internal_error' },
}

/** `{ error: { message, type, param, code } }`, with null where a field is about nothing. */
export const openAiErrorBody = ({ code, message, detail }: AppError) => {
  const words = WORDS[code]
  const isModel = code === 'not_found' && detail.parameter === 'model'
  return {
    error: {
      message,
      type: words.type,
      param: detail.parameter ?? null,
      code: isModel ? 'model_not_found' : words.code,
    },
  }
}

const problem = z
  .object({
    error: z.object({
      message: z.string().describe('One sentence that says what to do'),
      type: z.string(),
      param: z.string().nullable().describe('The offending field of the request'),
      code: z.string().describe('A stable code for programs'),
    }),
  })
  .meta({
    id: 'OpenAiProblem',
    examples: [
      {
        error: {
          message: 'Model "dall-e-3" is not installed on this server. Choose another model.',
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      },
    ],
  })

/** The schemas of refusals with these statuses, beside the ones that every endpoint can meet. */
export const refusals = refusalsWith(problem)
