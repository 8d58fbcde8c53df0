/** The submit of both interfaces: its Idempotency-Key, and the headers of its answer. */
import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { invalidParameter } from '../../core/errors.js'
import type { IdempotencyRequest, Submission, SubmitPorts, Submitted } from '../../core/generations/submit/ports.js'
import type { RequestIdentity } from '../../core/generations/submit/repeats.js'
import { submitGeneration } from '../../core/generations/submit/submit.js'
import { snakeCase } from '../../lib/names.js'

const MAX_KEY_LENGTH = 255

/** Only describes the header; idempotencyOf checks it. */
export const idempotencyKeyHeader = z.looseObject({
  'idempotency-key': z
    .unknown()
    .meta({ type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH })
    .optional()
    .describe('The same key with the same body gets the first answer again, charged once; kept for 24 hours'),
})

/** The request's Idempotency-Key, if any, with a hash over `scope`, its interface, and its body. @throws invalid_request */
export function idempotencyOf(
  { headers, body }: Pick<FastifyRequest, 'body'> & { readonly headers: Record<string, unknown> },
  scope: string,
): IdempotencyRequest | undefined {
  const key = idempotencyKeyOf({ headers })
  return key === undefined ? undefined : { key, bodyHash: hashOf(scope, body) }
}

/** @throws invalid_request */
export function idempotencyKeyOf({ headers }: { readonly headers: Record<string, unknown> }): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && key.trim() !== '' && key.length <= MAX_KEY_LENGTH) return key
  throw invalidParameter('Idempotency-Key', `The Idempotency-Key header must have 1 to ${MAX_KEY_LENGTH} characters.`)
}

/** What tells a repeat of this request from another one, where it has no Idempotency-Key. */
export const identityOf = ({ caller, method, routeOptions, body }: FastifyRequest): RequestIdentity => ({
  keyId: caller.keyId,
  requestHash: hashOf(`${method} ${routeOptions.url}`, body),
})

export function hashOf(scope: string, body: unknown): Buffer {
  // The API's default is the same whether it is sent or left out. Release 0.2.0 hashed it so, whose answers are repeated.
  const { omitted: _, ...complete } = body as { readonly omitted?: unknown }
  return createHash('sha256').update(scope).update('\n').update(canonical(complete)).digest()
}

/** The validated body as text, whatever the order of its fields. */
const canonical = (body: unknown): string =>
  JSON.stringify(body, (_key, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )

/** Names in a header what was sent and has no effect. */
export const nameIgnored = (reply: FastifyReply, ignored: readonly string[]): FastifyReply =>
  ignored.length > 0 ? reply.header('x-ignored-fields', ignored.map(snakeCase).join(', ')) : reply

/** Submits; headers tell of a repeated answer, of the credits that are left, and of what was ignored. */
export async function submitFor(
  request: FastifyRequest,
  reply: FastifyReply,
  ports: SubmitPorts,
  submission: Submission & { readonly ignoredFields?: readonly string[] },
): Promise<Submitted> {
  const { caller, id: requestId } = request
  const submitted = await submitGeneration(ports, caller, { ...submission, requestId })
  request.generationId = submitted.id
  if (submitted.replayed) reply.header('idempotent-replayed', 'true')
  nameIgnored(reply, [...(submission.ignoredFields ?? []), ...submitted.ignored])
  if (submitted.creditsLeft !== undefined) reply.header('x-credits-remaining', submitted.creditsLeft)
  return submitted
}
