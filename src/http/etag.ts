import { hash } from 'node:crypto'

/** A strong entity tag: the same for the same bytes. */
export const etagOf = (body: string): string => `"${hash('sha1', body, 'base64url').slice(0, 16)}"`

/** Whether an If-None-Match header names the tag. */
export const isKnownTag = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((tag) => {
    const bare = tag.trim().replace(/^W\//, '')
    return bare === '*' || bare === etag
  })
