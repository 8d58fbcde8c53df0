import { Agent, request } from 'undici'
import { networkFailure } from './failure.js'

/** Four pictures of 2048×1536 pixels as base64 are about 50 MB; beyond this a reply is cut off. */
const MAX_REPLY_BYTES = 128 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 5_000

export interface HttpReply {
  readonly status: number
  readonly text: string
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
  post(path: string, body: object, signal: AbortSignal): Promise<HttpReply>
  close(): Promise<void>
}

/**
 * Takes an entry of INFERENCE_URL apart: `<kind>+http(s)://[user:password@]host[:port][/path][?query]`.
 * @throws Error with one sentence that does not repeat the URL, which may hold a password
 */
export function parseServerUrl(url: string): ServerAddress {
  const [, kind = '', rest = ''] = /^([a-z0-9]+)\+(https?:.*)$/.exec(url) ?? []
  const parsed = URL.canParse(rest) ? new URL(rest) : undefined
  if (!parsed) throw new Error('A backend is written like a1111+http://host:7860.')
  const credentials =
    parsed.username || parsed.password ? `${decoded(parsed.username)}:${decoded(parsed.password)}` : undefined
  const base = parsed.origin + parsed.pathname.replace(/\/+$/, '')
  return {
    ...{ name: `${kind}+${base}`, base, query: parsed.searchParams },
    authorization: credentials && `Basic ${Buffer.from(credentials).toString('base64')}`,
  }
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
  const headers = { accept: 'application/json', ...(authorization && { authorization }) }

  async function call(path: string, signal: AbortSignal, body?: object): Promise<HttpReply> {
    signal.throwIfAborted()
    try {
      const reply = await request(base + path, {
        dispatcher,
        signal,
        ...(body
          ? { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
          : { method: 'GET', headers }),
      })
      return { status: reply.statusCode, text: await reply.body.text() }
    } catch (error) {
      signal.throwIfAborted()
      throw networkFailure(name, error)
    }
  }

  return {
    name,
    get: (path, signal) => call(path, signal),
    post: (path, body, signal) => call(path, signal, body),
    close: () => dispatcher.destroy(),
  }
}
