import type { PurgeCdn } from '../core/images/takedown.js'
import { timeLimit } from '../lib/abort-signals.js'
import { beginningOf } from '../lib/text.js'
import { USER_AGENT } from '../lib/user-agent.js'

const TIMEOUT_MS = 10_000
const PATH = '{path}'
/** The end of the address of Cloudflare's API. */
const CLOUDFLARE = '/purge_cache'
/** The answers of Squid and nginx when there was no copy. */
const NO_COPY = [404, 412]

/** Of a URL whose host this CDN may not serve: it took another one, so what it refuses here it has no copy of. */
const isForeign = (status: number) => status >= 400 && status < 500 && status !== 408 && status !== 429

interface Answer {
  readonly status: number
  /** Cloudflare says so in an answer of 200, too. */
  readonly failed: boolean
  /** Empty: it said none. */
  readonly reason: string
}

/** By the status. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^3/, 'it leads elsewhere, so write the address that it leads to'],
  [/^40[13]/, 'check the token or password in it, and that who has it may purge'],
  [/^404/, 'check its address, such as the zone in it'],
  [/^(405|501)/, 'let the cache take a PURGE from this server, or correct the address'],
  [/^429/, 'it takes no more for now, and is asked again later'],
]

/** Longer ones are pages. */
const MOST_SAID = 4096

async function beginningOfBody(body: AsyncIterable<Buffer>): Promise<string> {
  let said = ''
  for await (const chunk of body) {
    said += chunk
    if (said.length > MOST_SAID) break
  }
  return said
}

/** What a JSON answer says of itself, as Cloudflare, Fastly and others write it. */
function saidBy(text: string): Pick<Answer, 'failed' | 'reason'> {
  try {
    const { success, errors, msg, message } = JSON.parse(text)
    const reason = errors?.[0]?.message ?? msg ?? message
    return { failed: success === false, reason: typeof reason === 'string' ? beginningOf(reason, 200) : '' }
  } catch {
    return { failed: false, reason: '' }
  }
}

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
    const headers = { ...authorizationOf(target), 'user-agent': USER_AGENT }
    const limit = timeLimit(outer, TIMEOUT_MS)
    try {
      const { request } = await import('undici') // few servers ever purge
      const { statusCode, body } = await request(target.origin + target.pathname + target.search, {
        ...(byPath
          ? // As clients reach it: a cache keeps an image under the host of its URL, and may keep one for each protocol.
            {
              method: 'PURGE',
              headers: { ...headers, host: image.host, 'x-forwarded-proto': image.protocol.slice(0, -1) },
            }
          : {
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json' },
              body: JSON.stringify(asked),
            }),
        signal: limit.signal,
      })
      return { status: statusCode, ...saidBy(await beginningOfBody(body)) }
    } finally {
      limit.clear()
    }
  }
  const requireDone = ({ status, failed, reason }: Answer, hasNoCopy: boolean) => {
    if (hasNoCopy || (status >= 200 && status < 300 && !failed)) return
    const advice = ADVICE.find(([statuses]) => statuses.test(String(status)))?.[1]
    throw new Error(`CDN_PURGE_URL answered ${status}${reason && ` (${reason})`}${advice ? `: ${advice}.` : '.'}`)
  }

  return async (imageUrl, outer) => {
    const answer = await purge(imageUrl, outer)
    requireDone(answer, byPath && NO_COPY.includes(answer.status))
    if (cdnBaseUrl === ownBaseUrl) return
    const { host, pathname } = new URL(imageUrl)
    if (!byPath && new URL(template).pathname.endsWith(CLOUDFLARE))
      requireDone(await purge(imageUrl, outer, { prefixes: [host + pathname] }), false)
    const own = await purge(ownBaseUrl + imageUrl.slice(imageUrl.lastIndexOf('/')), outer)
    requireDone(own, isForeign(own.status))
  }
}

function authorizationOf({ username, password }: URL): { authorization?: string } {
  const [user, secret] = [username, password].map(decodeURIComponent)
  if (!secret) return {}
  return { authorization: user ? `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` : `Bearer ${secret}` }
}
