import type { AppError, ErrorCode } from '../../errors.js'

/** Spec 7.2 and the contract's further codes; the envelope knows fewer than we do. */
const CODES: Readonly<Record<ErrorCode, string>> = {
  unauthorized: 'unauthorized',
  forbidden: 'forbidden',
  invalid_request: 'invalid_parameter',
  payload_too_large: 'invalid_parameter',
  unsupported_media_type: 'invalid_parameter',
  not_found: 'not_found',
  subscription_required: 'forbidden',
  model_unavailable: 'forbidden',
  content_policy_violation: 'content_policy_violation',
  insufficient_credits: 'insufficient_credits',
  active_generation: 'rate_limit_exceeded',
  rate_limited: 'rate_limit_exceeded',
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
