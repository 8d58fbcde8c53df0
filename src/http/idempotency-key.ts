import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { invalidParameter } from '../errors.js'
import type { IdempotencyRequest } from '../generation/submit/reservation.js'

const MAX_LENGTH = 255

/** Only describes the header; idempotencyOf checks it. */
export const idempotencyKeyHeader = z.looseObject({
  'idempotency-key': z
    .unknown()
    .meta({ type: 'string', minLength: 1, maxLength: MAX_LENGTH })
    .optional()
    .describe('The same key with the same body gets the first answer again, charged once; kept for 24 hours'),
})

/**
 * The request's Idempotency-Key, if any, with a hash of the request.
 * @param scope the interface, so that one key cannot stand for requests to two of them
 * @throws invalid_request unless it has 1 to 255 characters
 */
export function idempotencyOf(
  request: Pick<FastifyRequest, 'body'> & { readonly headers: Record<string, unknown> },
  scope: string,
): IdempotencyRequest | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key.trim() === '' || key.length > MAX_LENGTH) {
    throw invalidParameter('Idempotency-Key', `The Idempotency-Key header must have 1 to ${MAX_LENGTH} characters.`)
  }
  const bodyHash = createHash('sha256').update(scope).update('\n').update(canonical(request.body)).digest()
  return { key, bodyHash }
}

/** The validated body as text, whatever the order of its fields. */
const canonical = (body: unknown): string =>
  JSON.stringify(body, (_key, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
