/** What the SDK throws, as one sentence for the operator: its own errors may repeat keys and what was signed. */
import { ImageTooLarge } from '../core/images/ports.js'
import { FileUnreadable } from '../core/images/read-each.js'
import { codesOf, isTlsFailure, reasonOf } from '../lib/causes.js'
import type { S3Storage } from './storage.js'

interface Thrown {
  readonly name?: string
  readonly code?: string
  readonly message?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

export const statusOf = (error: unknown): number | undefined => (error as Thrown).$metadata?.httpStatusCode
const nameOf = (error: unknown): string => (error as Thrown).name ?? ''
/** What the store says. It may repeat keys and what was signed: nobody gets to read it. */
const textOf = (error: unknown): string => ((error as Thrown).message ?? '').slice(0, 1000)

/** A missing bucket is a 404, too; a HEAD has no body that tells them apart. */
export const isMissing = (error: unknown): boolean => statusOf(error) === 404 && nameOf(error) !== 'NoSuchBucket'

/** Another object is there than the one that a put may replace; 409: one is just being stored. */
export const isConflict = (error: unknown): boolean =>
  [409, 412].includes(statusOf(error) ?? 0) || nameOf(error) === 'NoSuchKey'

/** What stores and proxies answer to a header or a method that they don't take: without it the request may pass. */
const isRefused = (error: unknown): boolean =>
  [400, 403, 405, 406, 411, 415, 417, 422, 428, 500, 501].includes(statusOf(error) ?? 0) &&
  !/^BadDigest$|ChecksumMismatch|Timeout|TooLarge/.test(nameOf(error))

/** Whoever refuses it, a store or a proxy in front of it. */
export const isTooLarge = (status: number | undefined, name: string): boolean =>
  status === 413 || /^(EntityTooLarge|MaxSizeExceeded|RequestBodyTooLarge)$/.test(name)

/** In words, such as `403 AccessDenied`. */
const answerOf = (error: unknown): string =>
  `${statusOf(error)} ${nameOf(error)}`.replace(/ (Unknown|UnknownError|Error)?$/, '')

/** @param bytes of the image */
export const tooLarge = (place: string, reason: string, bytes: number) =>
  new ImageTooLarge(
    `${place} refuses a PUT of ${(bytes / 1024 ** 2).toFixed(1)} MiB (${reason}), so such images fail: raise the largest size that the store, or the proxy in front of it, takes.`,
  )

/** `refusal`: such as `400 InvalidRequest`, if the store or a proxy might have taken the request in another form. */
export class BucketFailure extends Error {
  readonly refusal: string | undefined

  constructor(message: string, refusal?: string) {
    super(message)
    this.refusal = refusal
  }
}

/**
 * Of this object alone, and each time: it was moved to cold storage, or its key of encryption is switched off or deleted. Not what is
 * over when the keys' service answers again, nor what keeps objects from being put.
 */
const isUnreadable = (action: string, error: unknown): boolean =>
  /^(GET|HEAD)$/.test(action) &&
  /^(InvalidObjectState$|KMS)/i.test(nameOf(error)) &&
  !/Throttling|Timeout|Internal|LimitExceeded/i.test(nameOf(error))

/** What a store also answers about an object that is not there to a key that may not list. */
export const isForbidden = (error: unknown): error is BucketFailure =>
  error instanceof BucketFailure && /^403/.test(error.refusal ?? '')

/**
 * @param action what the bucket was asked for, such as `PUT`
 * @param call its time limit in ms, if that is why it ended, and the bytes that it should store
 */
export function bucketFailure(
  storage: S3Storage,
  action: string,
  error: unknown,
  { timedOutMs, bytes }: { readonly timedOutMs?: number | undefined; readonly bytes?: number | undefined },
): Error {
  const place = `The bucket "${storage.bucket}"`
  if (bytes !== undefined && isTooLarge(statusOf(error), nameOf(error))) return tooLarge(place, answerOf(error), bytes)
  if (isUnreadable(action, error))
    return new FileUnreadable(
      `${place} has an object in cold storage, or encrypted with a key that it can't use (${answerOf(error)}): restore the object there, and end the lifecycle rule that moved it.`,
      nameOf(error),
    )
  const refusal = isRefused(error) ? answerOf(error) : undefined
  return new BucketFailure(`${place} ${complaint(storage, action, error, timedOutMs)}`, refusal)
}

/** Why a store refuses us, besides what its status says: of the error's own words only these are looked at, none is repeated. */
const REASONS: readonly (readonly [RegExp, (storage: S3Storage, answer: string) => string])[] = [
  [
    /^CredentialsProviderError$/,
    () =>
      'needs a key: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or give this host an AWS role (a container reaches it with a hop limit of 2).',
  ],
  [
    /^(ExpiredToken|InvalidToken|TokenRefreshRequired|InvalidIdentityToken)/,
    (_, answer) =>
      `refuses a key that lasts for a time only (${answer}): its time is over, or AWS_SESSION_TOKEN is not the one that came with it. Give this host a role, or a key that lasts.`,
  ],
  [
    /^NoSuchBucket$/,
    ({ endpoint, region }) =>
      `does not exist at ${placeOf({ endpoint, region })}: create it, or correct STORAGE_URL, S3_ENDPOINT or S3_REGION.`,
  ],
  [
    /^(AuthorizationHeaderMalformed|IllegalLocationConstraintException|InvalidRegion|PermanentRedirect|TemporaryRedirect)/,
    ({ region }) => `is not in the region ${region}: correct S3_REGION.`,
  ],
  [/^RequestTimeTooSkewed$/, () => 'refuses requests because the clock of this host is wrong: correct that clock.'],
  [/^InvalidBucketName$/, () => 'has a name that this store does not allow: correct STORAGE_URL.'],
  [
    /^(SecondLevel|PathStyle)DomainForbidden$/,
    (_, answer) => `must be named in the host, not in the path (${answer}): set S3_FORCE_PATH_STYLE=false.`,
  ],
  [
    /^(SlowDown|TooManyRequests|RequestLimitExceeded|ServiceUnavailable)$/,
    (_, answer) => `wants to be asked less often (${answer}): raise what the store allows, or run fewer workers.`,
  ],
  [
    /API port/i,
    ({ endpoint }) =>
      `was looked for at the store's console: write the port of its API into S3_ENDPOINT (${endpoint}).`,
  ],
  [
    /quota|storagefull|cap (has been )?exceeded/i,
    (_, answer) => `is full, or has used up its quota (${answer}): make room there, or raise the quota.`,
  ],
]

const placeOf = ({ endpoint, region }: Pick<S3Storage, 'endpoint' | 'region'>) => endpoint ?? `AWS in ${region}`

function complaint(storage: S3Storage, action: string, error: unknown, timedOutMs: number | undefined): string {
  const [status, name, answer, place] = [statusOf(error), nameOf(error), answerOf(error), placeOf(storage)]
  // The SDK also names a connection so that was broken off.
  const isBroken = codesOf(error).some((code) => /^(ECONNRESET|EPIPE)$/.test(code))
  if (timedOutMs !== undefined || (name === 'TimeoutError' && !isBroken))
    return `did not answer a ${action} in time at ${place}: check that store and the network to it.`
  const known =
    REASONS.find(([pattern]) => pattern.test(name)) ?? REASONS.find(([pattern]) => pattern.test(textOf(error)))
  if (known) return known[1](storage, answer)
  if (status === 507) return `is full, or has used up its quota (${answer}): make room there, or raise the quota.`
  if (status !== undefined && status >= 300 && status < 400)
    return storage.endpoint === undefined
      ? `is not in the region ${storage.region}: correct S3_REGION.`
      : `is not at ${place}, which leads elsewhere (${answer}): write the address of the store itself into S3_ENDPOINT, such as https:// instead of http://.`
  if (answer === '400' && /^http:/.test(place))
    return `is not understood at ${place} (400): if the store speaks TLS, let S3_ENDPOINT begin with https://.`
  if (status === 401 || status === 403) {
    const variables = storage.key ? 'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY' : 'the role or profile of this host'
    const proxy =
      name === 'SignatureDoesNotMatch' ? ' A proxy in front of the store must pass Host and path on as they are.' : ''
    return `refuses a ${action} (${status} ${name}): check ${variables}, and that they may get, put, delete and list objects there.${proxy}`
  }
  if (isTlsFailure(error))
    return `has no certificate at ${place} that can be trusted, or takes no TLS of ours (${reasonOf(error)}): renew it there, or name its authority in NODE_EXTRA_CA_CERTS.`
  // Only errors of the network have a code, and nothing of the request in their message.
  if (status === undefined) {
    const style = storage.forcePathStyle || storage.endpoint === undefined ? '' : ', S3_FORCE_PATH_STYLE'
    return `cannot be reached at ${place} (${codesOf(error).length > 0 ? reasonOf(error) : name}): check S3_ENDPOINT${style} and the network.`
  }
  return `answered a ${action} with an error (${status} ${name}): look into the log of the store at ${place}.`
}
