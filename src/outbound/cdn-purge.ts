import type { PurgeCdn } from '../core/images/takedown.js'
import type { Log } from '../core/log.js'
import { NEVER_ABORTED, timeLimit } from '../lib/abort-signals.js'
import { retryFor } from '../lib/retry.js'

const TIMEOUT_MS = 10_000
const PATH = '{path}'
/** The end of the address of Cloudflare's API. */
const CLOUDFLARE = '/purge_cache'
/** The answers of Squid and nginx when there was no copy. */
const NO_COPY = [404, 412]

/** Of a URL whose host this CDN may not serve: it took another one, so what it refuses here it has no copy of. */
const isForeign = (status: number) => status >= 400 && status < 500 && status !== 408 && status !== 429

/**
 * Purges by the template CDN_PURGE_URL. If it holds `{path}`, the path of the image's URL without the first slash, it
 * sends `PURGE` (Varnish, nginx, Squid, Fastly), else a POST of `{"files": [url]}` (Cloudflare). A user and password in
 * the template are sent as Basic, a password alone as Bearer. Where images have another address than the one below
 * `baseUrl`, that one is purged, too, since this server answers there as well.
 *
 * This server lets nobody keep more than one copy of a URL (KEPT_APART_BY in http/images/cdn-routes.ts). At another address a bucket may
 * answer: there Cloudflare keeps a copy for each `Origin` and each query, which it purges by what their URLs begin with.
 */
export function cdnPurge(
  template: string,
  { cdnBaseUrl, baseUrl }: { readonly cdnBaseUrl: string; readonly baseUrl: string },
): PurgeCdn {
  const byPath = template.includes(PATH)
  const ownBaseUrl = `${baseUrl}/cdn`

  const purge = async (imageUrl: string, outer: AbortSignal, asked: object = { files: [imageUrl] }) => {
    const image = new URL(imageUrl)
    const target = new URL(template.replace(PATH, image.pathname.slice(1)))
    const authorization = authorizationOf(target)
    const limit = timeLimit(outer, TIMEOUT_MS)
    try {
      const { request } = await import('undici') // few servers ever purge
      const { statusCode, body } = await request(target.origin + target.pathname + target.search, {
        ...(byPath
          ? // As clients reach it: a cache keeps an image under the host of its URL, and may keep one for each protocol.
            {
              method: 'PURGE',
              headers: { ...authorization, host: image.host, 'x-forwarded-proto': image.protocol.slice(0, -1) },
            }
          : {
              method: 'POST',
              headers: { ...authorization, 'content-type': 'application/json' },
              body: JSON.stringify(asked),
            }),
        signal: limit.signal,
      })
      await body.dump()
      return statusCode
    } finally {
      limit.clear()
    }
  }
  const requireDone = (status: number, hasNoCopy: boolean) => {
    if (!hasNoCopy && (status < 200 || status >= 300)) throw new Error(`CDN_PURGE_URL answered ${status}`)
  }

  return async (imageUrl, outer) => {
    const status = await purge(imageUrl, outer)
    requireDone(status, byPath && NO_COPY.includes(status))
    if (cdnBaseUrl === ownBaseUrl) return
    const { host, pathname } = new URL(imageUrl)
    if (!byPath && new URL(template).pathname.endsWith(CLOUDFLARE))
      requireDone(await purge(imageUrl, outer, { prefixes: [host + pathname] }), false)
    const ownStatus = await purge(ownBaseUrl + imageUrl.slice(imageUrl.lastIndexOf('/')), outer)
    requireDone(ownStatus, isForeign(ownStatus))
  }
}

/** Longer than a CDN takes to fetch an image. */
const AGAIN_MS = 15_000
/** How long the CDN may refuse that. */
const PATIENCE_MS = 60_000
const ONCE_ONLY = 'a removed image was purged once only: purge it again by hand, the CDN may just have fetched it'

/**
 * Purges once more a little later, in the background: what a CDN had begun to fetch while the file was still there, it keeps after the
 * first purge. A process that ends before leaves it out.
 */
export const purgedAgain =
  (purge: PurgeCdn, log: Pick<Log, 'warn'>, afterMs = AGAIN_MS): PurgeCdn =>
  async (imageUrl, outer) => {
    await purge(imageUrl, outer)
    const again = () => retryFor(() => purge(imageUrl, NEVER_ABORTED), PATIENCE_MS)
    setTimeout(() => void again().catch((err) => log.warn({ err, imageUrl }, ONCE_ONLY)), afterMs).unref()
  }

function authorizationOf({ username, password }: URL): { authorization?: string } {
  const [user, secret] = [username, password].map(decodeURIComponent)
  if (!secret) return {}
  return { authorization: user ? `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` : `Bearer ${secret}` }
}
