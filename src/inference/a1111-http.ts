import { Agent, request } from 'undici'
import { networkFailure } from './a1111-errors.js'

/** Four pictures of 2048×1536 pixels as base64 are about 50 MB; beyond this a reply is cut off. */
const MAX_REPLY_BYTES = 128 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 5_000

export interface HttpReply {
  readonly status: number
  readonly text: string
}

/** A server's API over HTTP: its address without credentials, and one call at a time that ends only by its signal. */
export interface A1111Http {
  readonly name: string
  /** @throws BackendError when no whole answer came; the signal's reason when it aborted */
  get(path: string, signal: AbortSignal): Promise<HttpReply>
  post(path: string, body: object, signal: AbortSignal): Promise<HttpReply>
  close(): Promise<void>
}

function parseAddress(url: string) {
  const parsed = URL.canParse(url.slice('a1111+'.length)) ? new URL(url.slice('a1111+'.length)) : undefined
  // The URL itself stays out of the sentence: it may hold a password.
  if (!parsed || !/^a1111\+https?:/.test(url))
    throw new Error('An A1111 backend is written like a1111+http://host:7860.')
  const credentials =
    parsed.username || parsed.password ? `${decoded(parsed.username)}:${decoded(parsed.password)}` : undefined
  return {
    base: parsed.origin + parsed.pathname.replace(/\/+$/, ''),
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
export function createA1111Http(url: string, maxReplyBytes = MAX_REPLY_BYTES): A1111Http {
  const { base, authorization } = parseAddress(url)
  const name = `a1111+${base}`
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
