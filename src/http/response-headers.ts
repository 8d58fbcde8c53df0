/** The headers of answers: those that several routes set, and how the API's description explains each. */
import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { ERROR_CODES } from '../errors.js'
import type { Submitted } from '../generation/submit/submission.js'
import { statusOf } from './error-bodies.js'

/** Tells a client that submitted whether the answer is a repeated one, and what the account holds now. */
export function setSubmittedHeaders(reply: FastifyReply, { replayed, creditsLeft }: Submitted): void {
  if (replayed) reply.header('idempotent-replayed', 'true')
  if (creditsLeft !== undefined) reply.header('x-credits-remaining', creditsLeft)
}

/** A strong entity tag: the same for the same body. */
export const etagOf = (body: object): string => `"${hash('sha1', JSON.stringify(body), 'base64url').slice(0, 16)}"`

/** Whether an If-None-Match header names the tag. */
export const isKnownTag = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((tag) => {
    const bare = tag.trim().replace(/^W\//, '')
    return bare === '*' || bare === etag
  })

const textHeader = (description: string) => ({ description, schema: { type: 'string' as const } })
const integerHeader = (description: string) => ({ description, schema: { type: 'integer' as const } })

const LIMIT_HEADERS = {
  'X-RateLimit-Limit': integerHeader('Requests that fit into the window'),
  'X-RateLimit-Remaining': integerHeader('Requests left now'),
  'X-RateLimit-Reset': integerHeader('Seconds until the oldest request leaves the window'),
}
const SUBMITTED = {
  'X-Credits-Remaining': integerHeader('What you hold after the charge'),
  'Idempotent-Replayed': textHeader('`true` on the answer to a repeat'),
}
const ACTIVE = {
  'X-Active-Generation': textHeader('The generation that is active, if that is the reason'),
  Location: textHeader('Where to poll it'),
}
const PACED = {
  'Retry-After': integerHeader('Seconds until the next poll is worth it; absent at the end'),
  'X-Eta-Seconds': integerHeader('Seconds to the expected end, once the model was measured'),
  'X-Progress': textHeader('0 to 1, while it is drawn and the GPU server tells'),
}
const IGNORED = { 'X-Ignored-Fields': textHeader('The fields of the request that change nothing') }
const REPEATED = {
  'X-Should-Retry': textHeader('`false` where a repeat would be charged again, as clients of OpenAI understand it'),
}
const TAG = { ETag: textHeader('For `If-None-Match`') }

const headersFor = (operation: string, statuses: readonly number[], headers: Readonly<Record<string, object>>) =>
  statuses.map((status) => [`${operation} ${status}`, headers] as const)

/** How a request can end that has submitted its generation and waits for it. */
const WAITED = [404, 500, 503, 504]
/** The headers that only some answers have, by operation and status. */
const OWN_HEADERS: Readonly<Record<string, Readonly<Record<string, object>>>> = Object.fromEntries([
  ...headersFor('submitGeneration', [201], SUBMITTED),
  ...headersFor('submitGeneration', [429], ACTIVE),
  ...headersFor('createImage', [200, ...WAITED], SUBMITTED),
  ...headersFor('createImage', [202], {
    ...SUBMITTED,
    'Webhook-Secret': textHeader('Signs what `webhook_url` is told'),
  }),
  ...headersFor('createImage', [429], ACTIVE),
  ...headersFor('createOpenAiImages', [402, 403, 409, 413, 415, 422], IGNORED),
  ...headersFor('createOpenAiImages', [200], { ...SUBMITTED, ...IGNORED }),
  ...headersFor('createOpenAiImages', WAITED, { ...SUBMITTED, ...IGNORED, ...REPEATED }),
  ...headersFor('createOpenAiImages', [400, 429], { ...ACTIVE, ...IGNORED }),
  ...headersFor('pollGeneration', [200, 304], { ...PACED, ...TAG }),
  ...headersFor('getCapabilities', [200, 304], TAG),
])

/** The descriptions of all headers that an operation's answers with this status have. */
export const headersOf = (operationId: string | undefined, status: number): Record<string, object> => ({
  ...(status >= 400 && {
    'X-Error-Code': {
      description: 'A stable code for programs',
      schema: { type: 'string', enum: ERROR_CODES.filter((code) => statusOf(code) === status) },
    },
  }),
  'X-Request-Id': textHeader('Names this answer'),
  ...([409, 429, 503].includes(status) && { 'Retry-After': integerHeader('Seconds to wait before the next try') }),
  ...(status !== 401 && LIMIT_HEADERS),
  ...OWN_HEADERS[`${operationId} ${status}`],
})
