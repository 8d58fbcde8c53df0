import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { Agent, type Dispatcher, request } from 'undici'
import { type Message, messagesOf } from '../../../src/client/follow-generation.js'
import { pngSize } from '../../../src/db/audit/image-file-checks.js'
import type { Answered, Asked, Exchange, Lost } from './history.js'

export interface Target {
  readonly name: string
  readonly url: string
  /** Whether a load balancer would send anything there now. */
  readonly ready: boolean
}

export interface Call {
  readonly user: string
  readonly asked: Asked
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** With a leading slash. */
  readonly path: string
  readonly apiKey?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
  /** The client closes the connection then, whatever has come. */
  readonly hangUpAfterMs?: number
}

/** Past every deadline that the servers set themselves. */
const PATIENCE_MS = 30_000

/** Sends what the users ask to one of the servers that are up, and writes down what came back. */
export function chaosClient(targets: readonly Target[], choose: () => number, note: (exchange: Exchange) => void) {
  const agent = new Agent({ pipelining: 1, keepAliveTimeout: 4000, connections: 200, connect: { timeout: 3000 } })

  const pick = (): Target => {
    const up = targets.filter(({ ready }) => ready)
    const from = up.length > 0 ? up : targets
    return from[Math.floor(choose() * from.length)] as Target
  }

  async function send(call: Call): Promise<Answered | Lost> {
    for (let left = 3; ; left--) {
      const target = pick()
      const at = Date.now()
      const got = await sendTo(target, call)
      // Nobody listened, so nothing was sent: a load balancer would take the next server, and a user wait a little.
      if (got === 'refused' && left > 0) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        continue
      }
      const noted = got === 'refused' ? 'broken' : got
      note({ user: call.user, asked: call.asked, server: target.name, at, until: Date.now(), got: noted })
      return noted
    }
  }

  async function sendTo(target: Target, call: Call): Promise<Answered | Lost | 'refused'> {
    const { apiKey, method, path, body, headers, hangUpAfterMs } = call
    const end = new AbortController()
    const timer = setTimeout(() => end.abort(), hangUpAfterMs ?? PATIENCE_MS)
    try {
      const answer = await request(`${target.url}${path}`, {
        method,
        dispatcher: agent,
        signal: end.signal,
        headersTimeout: 0,
        bodyTimeout: 0,
        headers: {
          ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      })
      if (call.asked.what === 'events' && answer.statusCode === 200) {
        const events = await eventsOf(answer.body, end.signal)
        if (events.length === 0) end.signal.throwIfAborted()
        return { ...toAnswered(200, answer.headers, Buffer.alloc(0)), events }
      }
      const bytes = Buffer.from(await answer.body.arrayBuffer())
      const answered = toAnswered(answer.statusCode, answer.headers, bytes)
      return call.asked.what === 'page' ? { ...answered, page: pageOf(answer.headers, bytes) } : answered
    } catch (error) {
      if (end.signal.aborted) return hangUpAfterMs === undefined ? 'timeout' : 'hung up'
      return (error as { code?: string }).code === 'ECONNREFUSED' ? 'refused' : 'broken'
    } finally {
      clearTimeout(timer)
    }
  }

  return { send, close: () => agent.destroy() }
}

export type ChaosClient = ReturnType<typeof chaosClient>

function toAnswered(status: number, headers: Record<string, string | string[] | undefined>, bytes: Buffer): Answered {
  const header = (name: string) => headers[name]?.toString()
  const type = header('content-type') ?? ''
  const image = type === 'image/png' ? pngSize(bytes) : undefined
  return {
    status,
    body: type.includes('json') ? parse(bytes) : undefined,
    requestId: header('x-request-id'),
    retryAfter: header('retry-after'),
    ...(image && { image: { ...image, sha256: createHash('sha256').update(bytes).digest('hex') } }),
  }
}

function pageOf(headers: Record<string, string | string[] | undefined>, bytes: Buffer): NonNullable<Answered['page']> {
  const cookie = [headers['set-cookie']].flat()[0]?.split(';')[0]
  return { text: bytes.toString(), cookie, location: headers.location?.toString() }
}

/** Until the stream ends, breaks off, or the client has had enough. */
async function eventsOf(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<Message[]> {
  const web = Readable.toWeb(body) as ReadableStream<Uint8Array>
  const events: Message[] = []
  const listening = { signal, onSound: () => undefined, onRetry: () => undefined }
  for await (const message of messagesOf(web, listening)) events.push(message)
  return events
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}
