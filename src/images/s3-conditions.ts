/** The conditions of a request for an image in a bucket, where the server answers them itself. */
import type { FileRequest } from '../core/images/ports.js'
import { matches, matchesWeakly } from '../lib/if-match.js'
import type { StoredObject } from './s3-capabilities.js'

interface Tagged extends Pick<StoredObject, 'etag'> {
  readonly changedAt: Date | undefined
}

/** What an answer about the object has in its head. */
export const headersOf = ({ etag, changedAt }: Tagged) => ({
  'accept-ranges': 'bytes',
  ...(changedAt && { 'last-modified': changedAt.toUTCString() }),
  ...(etag && { etag }),
})

/** Whether it is the one that the client wants; a date that is none says nothing. */
export function isWanted({ ifMatch, ifUnmodifiedSince }: FileRequest, { etag, changedAt }: StoredObject): boolean {
  if (ifMatch !== undefined) return matches(ifMatch, etag)
  return !(inWholeSeconds(changedAt) > Date.parse(ifUnmodifiedSince ?? ''))
}

/** Whether the client has it already. */
export function isNotModified(
  { ifNoneMatch, ifModifiedSince }: FileRequest,
  { etag, changedAt }: StoredObject,
): boolean {
  if (ifNoneMatch !== undefined) return matchesWeakly(ifNoneMatch, etag)
  return Date.parse(ifModifiedSince ?? '') >= inWholeSeconds(changedAt)
}

/** As HTTP writes it. */
const inWholeSeconds = (time: Date): number => Math.floor(time.getTime() / 1000) * 1000
