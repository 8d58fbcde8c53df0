import type { PurgeCdn } from '../core/images/takedown.js'
import { timeLimit } from '../lib/abort-signals.js'

const TIMEOUT_MS = 10_000
const PATH = '{path}'
/** The answers of Squid and nginx when there was no copy. */
const NO_COPY = [404, 412]

/**
 * Purges by the template CDN_PURGE_URL. If it holds `{path}`, the path of the image's URL without the first slash, it
 * sends `PURGE` (Varnish, nginx, Squid, Fastly), else a POST of `{"files": [url]}` (Cloudflare). A user and password in
 * the template are sent as Basic, a password alone as Bearer.
 */
export function cdnPurge(template: string): PurgeCdn {
  const byPath = template.includes(PATH)
  return async (imageUrl, outer) => {
    const image = new URL(imageUrl)
    const target = new URL(template.replace(PATH, image.pathname.slice(1)))
    const authorization = authorizationOf(target)
    const limit = timeLimit(outer, TIMEOUT_MS)
    try {
      const { request } = await import('undici') // few servers ever purge
      const { statusCode, body } = await request(target.origin + target.pathname + target.search, {
        ...(byPath
          ? // The public host: a cache keeps an image under the host of its URL.
            { method: 'PURGE', headers: { ...authorization, host: image.host } }
          : {
              method: 'POST',
              headers: { ...authorization, 'content-type': 'application/json' },
              body: JSON.stringify({ files: [imageUrl] }),
            }),
        signal: limit.signal,
      })
      await body.dump()
      const done = (statusCode >= 200 && statusCode < 300) || (byPath && NO_COPY.includes(statusCode))
      if (!done) throw new Error(`CDN_PURGE_URL answered ${statusCode}`)
    } finally {
      limit.clear()
    }
  }
}

function authorizationOf({ username, password }: URL): { authorization?: string } {
  const [user, secret] = [username, password].map(decodeURIComponent)
  if (!secret) return {}
  return { authorization: user ? `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` : `Bearer ${secret}` }
}
