import { getProxyForUrl } from 'proxy-from-env'
import { Agent, type Dispatcher, FormData, ProxyAgent, request } from 'undici'
import { proxyFor } from '../lib/no-proxy.js'
import { networkFailure } from './backend-failure.js'

/** Four images of 2048×1536 pixels as base64 are about 50 MB; beyond this a reply is cut off. */
const MAX_REPLY_BYTES = 128 * 1024 * 1024
export const CONNECT_TIMEOUT_MS = 5_000

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
  /** The value of the Authorization header. */
  readonly authorization: string | undefined
}

const URL_FORM =
  'A backend is written like a1111+http://host:7860. In its password write / as %2F, # as %23, ? as %3F and , as %2C.'

/**
 * Takes an entry of INFERENCE_URL apart: `<kind>+http(s)://[user:password@]host[:port][/path][?query]`. A password
 * without a user, as in `https://:KEY@host`, is an API key, sent as `Authorization: Bearer KEY`.
 * @throws Error with one sentence that does not repeat the URL, which may hold a password
 */
export function parseServerUrl(url: string): ServerAddress {
  const [, kind = '', rest = ''] = /^([a-z0-9]+)\+(https?:.*)$/.exec(url) ?? []
  const parsed = URL.canParse(rest) ? new URL(rest) : undefined
  // A slash or # in a password ends the host: the rest of it would be requested, and logged, as the path.
  const cutShort = !parsed?.username && !parsed?.password && rest.replace(/\?.*/, '').includes('@')
  if (!parsed || cutShort) throw new Error(URL_FORM)
  const base = parsed.origin + parsed.pathname.replace(/\/+$/, '')
  return {
    ...{ name: `${kind}+${base}`, base, query: parsed.searchParams },
    authorization: authorizationOf(decoded(parsed.username), decoded(parsed.password)),
  }
}

function authorizationOf(user: string, password: string): string | undefined {
  if (user) return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  return password ? `Bearer ${password}` : undefined
}

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A server over https:// may be rented, behind HTTPS_PROXY; one over http:// is in a network of ours. */
export function agentOf(base: string, options: Agent.Options): Dispatcher {
  const proxy = base.startsWith('https:') && proxyFor(base, getProxyForUrl)
  return proxy ? new ProxyAgent({ ...options, uri: proxy }) : new Agent(options)
}

type Sent = Pick<Dispatcher.RequestOptions, 'method' | 'body'> & { readonly headers: Record<string, string> }
type Read<T> = (reply: Dispatcher.ResponseData) => Promise<T>

export type ServerHttp = ReturnType<typeof createServerHttp>

/**
 * A server's API over HTTP. Every call throws a BackendError when no complete answer came, or the signal's reason when
 * it aborted. There are no time-outs, because an inference sends its first byte when it is done. POSTs never reuse a
 * connection: some servers close idle ones after 5 s, and a POST on a closing one would be `lost`. With `keepAlive`
 * GETs do, and `postRepeatable`; what is lost on a reused connection is repeated once. Redirects are not followed.
 */
export function createServerHttp(
  address: ServerAddress,
  { keepAlive = false, maxReplyBytes = MAX_REPLY_BYTES }: { keepAlive?: boolean; maxReplyBytes?: number } = {},
) {
  const { name, base, authorization } = address
  const connect = { timeout: CONNECT_TIMEOUT_MS }
  const limits = { headersTimeout: 0, bodyTimeout: 0, maxResponseSize: maxReplyBytes, connect }
  const fresh = agentOf(base, { ...limits, pipelining: 0 })
  const kept = keepAlive ? agentOf(base, limits) : undefined
  const json = { accept: 'application/json', ...(authorization && { authorization }) }

  async function call<T>(path: string, signal: AbortSignal, sent: Sent, read: Read<T>, agent = fresh): Promise<T> {
    signal.throwIfAborted()
    let begun = false
    try {
      const reply = await request(base + path, { dispatcher: agent, signal, ...sent })
      begun = true
      return await read(reply)
    } catch (error) {
      signal.throwIfAborted()
      const failed = networkFailure(name, error)
      if (agent === fresh || begun || failed.kind !== 'lost') throw failed
    }
    // The server may just have been closing the reused connection.
    return call(path, signal, sent, read)
  }

  const get = <T>(path: string, signal: AbortSignal, accept: string, read: Read<T>) =>
    call(path, signal, { method: 'GET', headers: { ...json, accept } }, read, kept)

  /** Sends JSON, or a form as it is. */
  const post = (path: string, body: object, signal: AbortSignal, onHeaders?: OnHeaders, agent?: Dispatcher) => {
    const sent =
      body instanceof FormData
        ? { headers: json, body }
        : { headers: { ...json, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    return call(path, signal, { method: 'POST', ...sent }, textReader(onHeaders), agent)
  }

  return {
    name,
    address,
    get: (path: string, signal: AbortSignal, onHeaders?: OnHeaders) =>
      get(path, signal, json.accept, textReader(onHeaders)),
    post: (path: string, body: object, signal: AbortSignal, onHeaders?: OnHeaders) =>
      post(path, body, signal, onHeaders),
    /** A POST that does no harm when the server gets it twice. */
    postRepeatable: (path: string, body: object, signal: AbortSignal) => post(path, body, signal, undefined, kept),
    download: (path: string, signal: AbortSignal) =>
      get(path, signal, '*/*', async ({ statusCode, body }) => ({
        status: statusCode,
        bytes: Buffer.from(await body.arrayBuffer()),
      })),
    close: async () => void (await Promise.all([fresh.destroy(), kept?.destroy()])),
  }
}

/** Called when an answer begins; `length`: its body's in bytes, if the server says it. */
type OnHeaders = (status: number, length: number | undefined) => void

const textReader =
  (onHeaders?: OnHeaders): Read<HttpReply> =>
  async ({ statusCode: status, headers, body }) => {
    const length = headers['content-length']
    onHeaders?.(status, typeof length === 'string' ? Number(length) : undefined)
    return { status, text: await body.text() }
  }
