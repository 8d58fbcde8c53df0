import { z } from 'zod'
import type { AppError, ErrorCode } from '../../errors.js'
import { refusalsWith } from '../refusals.js'

/** Spec 7.2 and the contract's further codes; the envelope knows fewer than we do. */
const CODES: Readonly<Record<ErrorCode, string>> = {
  unauthorized: 'unauthorized',
  forbidden: 'forbidden',
  invalid_request: 'invalid_parameter',
  payload_too_large: 'invalid_parameter',
  unsupported_media_type: 'invalid_parameter',
  not_found: 'not_found',
  method_not_allowed: 'method_not_allowed',
  subscription_required: 'forbidden',
  model_unavailable: 'forbidden',
  content_policy_violation: 'content_policy_violation',
  insufficient_credits: 'insufficient_credits',
  active_generation: 'rate_limit_exceeded',
  rate_limited: 'rate_limit_exceeded',
  too_many_streams: 'rate_limit_exceeded',
  idempotency_mismatch: 'idempotency_conflict',
  idempotency_in_flight: 'idempotency_conflict',
  generation_failed: 'generation_failed',
  timeout: 'timeout',
  unavailable: 'unavailable',
  internal: 'internal_error',
}

/** `{ success: false, error: { code, message, parameter?, retry_after? } }`. JSON drops what is undefined. */
export const errorBody = ({ code, message, detail }: AppError) => ({
  success: false,
  error: { code: CODES[code], message, parameter: detail.parameter, retry_after: detail.retryAfterSeconds },
})

const problem = z
  .object({
    success: z.literal(false),
    error: z.object({
      code: z.enum([...new Set(Object.values(CODES))]).describe('A stable code for programs'),
      message: z.string().describe('One sentence that says what to do'),
      parameter: z.string().optional().describe('The offending field of the request'),
      retry_after: z.int().min(1).optional().describe('Seconds to wait before the next try'),
    }),
  })
  .meta({
    id: 'CreateImageProblem',
    examples: [
      {
        success: false,
        error: { code: 'invalid_parameter', message: 'steps must be an integer from 20 to 50.', parameter: 'steps' },
      },
    ],
  })

/** The schemas of refusals with these statuses, beside the ones that every endpoint can meet. */
export const refusals = refusalsWith(problem)
