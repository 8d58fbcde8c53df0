/** ETags in the conditions of a request: RFC 9110, sections 13.1.1 and 13.1.2. */

const isListed = (tags: string, etag: string, read = (tag: string) => tag): boolean =>
  tags.split(',').some((tag) => ['*', etag].includes(read(tag.trim())))

/** Whether an If-Match lists the ETag. */
export const matches = (ifMatch: string, etag: string): boolean => isListed(ifMatch, etag)

/** Whether an If-None-Match lists it: the client has that answer. Proxies may have made the ETag a weak one. */
export const matchesWeakly = (ifNoneMatch: string, etag: string): boolean =>
  isListed(ifNoneMatch, etag, (tag) => tag.replace(/^W\//, ''))
