/** What the SDK throws, as one sentence for the operator: its own errors may repeat keys and what was signed. */
import type { S3Storage } from './storage.js'

interface Thrown {
  readonly name?: string
  readonly code?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

export const statusOf = (error: unknown): number | undefined => (error as Thrown).$metadata?.httpStatusCode
const nameOf = (error: unknown): string => (error as Thrown).name ?? ''

/** A missing bucket is a 404, too; a HEAD has no body that tells them apart. */
export const isMissing = (error: unknown): boolean => statusOf(error) === 404 && nameOf(error) !== 'NoSuchBucket'

/** Another object is there than the one that a put may replace; 409: one is just being stored. */
export const isConflict = (error: unknown): boolean =>
  [409, 412].includes(statusOf(error) ?? 0) || nameOf(error) === 'NoSuchKey'

/** Some stores know no conditional puts. */
export const isUnsupported = (error: unknown): boolean => statusOf(error) === 501

/** @param timedOutMs how long it took, if that is why it ended */
export function bucketFailure(storage: S3Storage, error: unknown, timedOutMs: number | undefined): Error {
  return new Error(`The bucket "${storage.bucket}" ${complaint(storage, error, timedOutMs)}`)
}

function complaint({ endpoint, key, region }: S3Storage, error: unknown, timedOutMs: number | undefined): string {
  const [status, name] = [statusOf(error), nameOf(error)]
  const place = endpoint ?? `AWS in ${region}`
  if (timedOutMs !== undefined || name === 'TimeoutError')
    return `did not answer in time at ${place}: check that store and the network to it.`
  if (name === 'CredentialsProviderError')
    return 'needs a key: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or give this host an AWS role.'
  if (name === 'NoSuchBucket')
    return `does not exist at ${place}: create it, or correct STORAGE_URL, S3_ENDPOINT or S3_REGION.`
  if (status === 301 || name === 'AuthorizationHeaderMalformed' || name === 'IllegalLocationConstraintException')
    return `is not in the region ${region}: correct S3_REGION.`
  if (name === 'RequestTimeTooSkewed')
    return 'refuses requests because the clock of this host is wrong: correct that clock.'
  if (status === 401 || status === 403) {
    const variables = key ? 'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY' : 'the role or profile of this host'
    return `refuses access (${name}): check ${variables}, and that they may get, put, delete and list objects there.`
  }
  if (status === undefined)
    return `cannot be reached at ${place} (${(error as Thrown).code ?? name}): check S3_ENDPOINT and the network.`
  return `answered with an error (${status} ${name}): look into the log of the store at ${place}.`
}
