/** Whether an answer has the form that the spec gives it; undefined when it has. */
import type { Answered, Exchange } from './history.js'

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fields of a body by name; none of a body that is no object. */
export const fieldsOf = (body: unknown): Readonly<Record<string, unknown>> => (isRecord(body) ? body : {})

const CODES = new Set([
  ...['content_policy_violation', 'forbidden', 'generation_failed', 'idempotency_conflict', 'insufficient_credits'],
  ...['internal_error', 'invalid_parameter', 'not_found', 'rate_limit_exceeded', 'timeout', 'unauthorized'],
  'unavailable',
])

const keysAre = (body: unknown, ...keys: string[]): boolean =>
  Object.keys(fieldsOf(body)).sort().join() === keys.sort().join()

export function misshapen({ asked }: Exchange, got: Answered): string | undefined {
  const { status, body } = got
  if (asked.what === 'image') return undefined
  if (got.requestId === undefined) return 'no x-request-id'
  if (asked.what === 'page') return status < 500 && !got.page ? 'no page' : undefined
  if (status === 429 && !/^[1-9]\d*$/.test(got.retryAfter ?? '')) return '429 without a Retry-After of whole seconds'
  if (status >= 400) {
    const createImage = asked.what === 'create' || (asked.what === 'probe' && asked.createImage)
    return createImage ? misshapenEnvelope(body) : misshapenError(body)
  }
  const fields = fieldsOf(body)
  switch (asked.what) {
    case 'submit':
      return status === 201 &&
        keysAre(
          body,
          'id',
          'status',
          'model_version_id',
          'model_name',
          'credits_charged',
          'seed',
          'created_at',
          'poll_url',
        )
        ? undefined
        : `not the body of a submit: ${Object.keys(fields)}`
    case 'create':
      return status === 200 && fields.success === true && keysAre(body, 'success', 'data')
        ? undefined
        : `not the body of Create Image: ${Object.keys(fields)}`
    case 'poll':
    case 'cancel':
      return status === 200 ? misshapenPoll(fields) : `${status} to a ${asked.what}`
    case 'events':
      return status === 200 && got.events ? undefined : `${status} to a request for events`
    case 'account':
      return keysAre(body, 'username', 'credits', 'subscription') ? undefined : 'not the body of an account'
    default:
      return undefined
  }
}

const misshapenError = (body: unknown): string | undefined =>
  keysAre(body, 'error') && typeof fieldsOf(body).error === 'string' ? undefined : 'an error that is not { error }'

function misshapenEnvelope(body: unknown): string | undefined {
  const { success, error } = fieldsOf(body)
  const { code, message } = fieldsOf(error)
  return success === false && CODES.has(String(code)) && typeof message === 'string'
    ? undefined
    : 'an error that is not in the envelope'
}

export function misshapenPoll(fields: Readonly<Record<string, unknown>>): string | undefined {
  const expected: Readonly<Record<string, readonly string[]>> = {
    queued: ['id', 'status', 'queue_position'],
    processing: ['id', 'status'],
    succeeded: ['id', 'status', 'output'],
    failed: ['id', 'status', 'error'],
  }
  const keys = expected[String(fields.status)]
  if (!keys || !keysAre(fields, ...keys)) return `not the body of a poll: ${Object.keys(fields)}`
  if (fields.status === 'queued' && !(Number(fields.queue_position) >= 1)) return 'a queue_position below 1'
  return undefined
}
