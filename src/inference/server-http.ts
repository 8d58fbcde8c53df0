import { Agent, type Dispatcher, request } from 'undici'
import { networkFailure } from './failure.js'

/** Four pictures of 2048×1536 pixels as base64 are about 50 MB; beyond this a reply is cut off. */
const MAX_REPLY_BYTES = 128 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 5_000

export interface HttpReply {
  readonly status: number
  readonly text: string
}

export interface HttpDownload {
  readonly status: number
  readonly bytes: Buffer
}

export interface ServerAddress {
  /** For logs: kind and address, without credentials. */
  readonly name: string
  /** Origin and path, without a slash at the end. */
  readonly base: string
  readonly query: URLSearchParams
  /** Of the Authorization header. */
  readonly authorization: string | undefined
}

/** A server's API over HTTP: its address without credentials, and one call at a time that ends only by its signal. */
export interface ServerHttp {
  readonly name: string
  /** @throws BackendError when no whole answer came; the signal's reason when it aborted */
  get(path: string, signal: AbortSignal): Promise<HttpReply>
  /** @param onHeaders told the status as soon as the answer begins */
  post(path: string, body: object, signal: AbortSignal, onHeaders?: (status: number) => void): Promise<HttpReply>
  /** Like `get`, for a file. */
  download(path: string, signal: AbortSignal): Promise<HttpDownload>
  close(): Promise<void>
}

const WRITTEN_LIKE =
  'A backend is written like a1111+http://host:7860. In its password write / as %2F, # as %23, ? as %3F and , as %2C.'

/**
 * Takes an entry of INFERENCE_URL apart: `<kind>+http(s)://[user:password@]host[:port][/path][?query]`. A password
 * without a user, as in `https://:KEY@host`, is an API key, sent as `Authorization: Bearer KEY`.
 * @throws Error with one sentence that does not repeat the URL, which may hold a password
 */
export function parseServerUrl(url: string): ServerAddress {
  const [, kind = '', rest = ''] = /^([a-z0-9]+)\+(https?:.*)$/.exec(url) ?? []
  const parsed = URL.canParse(rest) ? new URL(rest) : undefined
  // A slash or # in a password ends the host: the rest would be asked for, and logged, as if it were the path.
  const cutShort = !parsed?.username && !parsed?.password && rest.replace(/\?.*/, '').includes('@')
  if (!parsed || cutShort) throw new Error(WRITTEN_LIKE)
  const base = parsed.origin + parsed.pathname.replace(/\/+$/, '')
  return {
    ...{ name: `${kind}+${base}`, base, query: parsed.searchParams },
    authorization: authorizationOf(decoded(parsed.username), decoded(parsed.password)),
  }
}

function authorizationOf(user: string, password: string): string | undefined {
  if (!user && !password) return undefined
  return user ? `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` : `Bearer ${password}`
}

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * No time-outs of its own: an inference sends its first byte when it is done. No keep-alive either: these servers
 * close idle connections after 5 s, and a call that meets a closing one would count as lost. Redirects are not followed.
 */
export function createServerHttp(
  { name, base, authorization }: ServerAddress,
  maxReplyBytes = MAX_REPLY_BYTES,
): ServerHttp {
  const dispatcher = new Agent({
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    maxResponseSize: maxReplyBytes,
  })
  const json = { accept: 'application/json', ...(authorization && { authorization }) }

  async function call<T>(
    path: string,
    signal: AbortSignal,
    asked: Pick<Dispatcher.RequestOptions, 'method' | 'body'> & { headers: Record<string, string> },
    read: (reply: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted()
    try {
      return await read(await request(base + path, { dispatcher, signal, ...asked }))
    } catch (error) {
      signal.throwIfAborted()
      throw networkFailure(name, error)
    }
  }

  return {
    name,
    get: (path, signal) => call(path, signal, { method: 'GET', headers: json }, asText),
    post: (path, body, signal, onHeaders) => {
      const headers = { ...json, 'content-type': 'application/json' }
      return call(path, signal, { method: 'POST', headers, body: JSON.stringify(body) }, (reply) => {
        onHeaders?.(reply.statusCode)
        return asText(reply)
      })
    },
    download: (path, signal) => call(path, signal, { method: 'GET', headers: { ...json, accept: '*/*' } }, asBytes),
    close: () => dispatcher.destroy(),
  }
}

const asText = async ({ statusCode, body }: Dispatcher.ResponseData): Promise<HttpReply> => ({
  status: statusCode,
  text: await body.text(),
})

const asBytes = async ({ statusCode, body }: Dispatcher.ResponseData): Promise<HttpDownload> => ({
  status: statusCode,
  bytes: Buffer.from(await body.arrayBuffer()),
})
