/** What every stand-in for an inference server needs: real HTTP, a journal, and faults of the wire. */
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text as readText } from 'node:stream/consumers'

export interface StandInRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** As it came. */
  readonly text: string
  /** Undefined when it is no JSON object. */
  readonly body: Record<string, unknown> | undefined
}

export interface StandInReply {
  readonly status: number
  readonly body: unknown
}

export type WireFault =
  | 'none'
  /** Takes the request and never answers. */
  | 'hang'
  /** Closes the connection instead of answering, or in the middle of the answer. */
  | 'drop'
  | 'drop_mid_reply'
  /** 200 with something that is not JSON. */
  | 'garbage'
  /** This status with this body. */
  | { readonly status: number; readonly body?: unknown }

export interface StandInServerOptions {
  readonly port?: number
  /** The Authorization header to insist on. */
  readonly authorization?: string | undefined
  readonly unauthorized: StandInReply
  readonly faultOf: (request: StandInRequest) => WireFault
  readonly answer: (request: StandInRequest) => StandInReply | Promise<StandInReply>
  /** Changes the settings; also `POST /stand-in/set`. */
  readonly set: (settings: Record<string, unknown>) => void
}

export interface StandInServer {
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly port: number
  /** Every request, oldest first. */
  readonly journal: readonly StandInRequest[]
  /** Resolves with the next request (or one already made) that matches. */
  readonly seen: (matches: (request: StandInRequest) => boolean) => Promise<StandInRequest>
  /** How many connections are open. */
  readonly connections: () => number
  /** Stops listening and cuts all connections, until `accept`. */
  readonly refuse: () => Promise<void>
  readonly accept: () => Promise<void>
}

export async function startStandInServer(options: StandInServerOptions): Promise<StandInServer> {
  const { authorization, unauthorized, faultOf, answer, set } = options
  const journal: StandInRequest[] = []
  const events = new EventEmitter().setMaxListeners(0)
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '/', headers } = incoming
    const text = await readText(incoming)
    const request = { method, path, headers, text, body: objectIn(text) }
    if (path === '/stand-in/set') {
      set(request.body ?? {})
      return json(response, { status: 200, body: {} })
    }
    journal.push(request)
    events.emit('request')
    if (authorization && headers.authorization !== authorization) return json(response, unauthorized)
    const fault = faultOf(request)
    if (typeof fault === 'object') json(response, { body: {}, ...fault })
    else if (fault === 'garbage') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>nginx</html>')
    else if (fault === 'drop') response.destroy()
    else if (fault === 'hang') await once(response, 'close')
    else if (fault === 'drop_mid_reply') cutOff(response, JSON.stringify((await answer(request)).body))
    else json(response, await answer(request))
  }

  let port = options.port ?? 0
  async function accept(): Promise<void> {
    if (server.listening) return
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }

  async function refuse(): Promise<void> {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }

  await accept()
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    journal,
    seen: async (matches) => {
      for (;;) {
        const request = journal.find(matches)
        if (request) return request
        await once(events, 'request')
      }
    },
    connections: () => sockets.size,
    refuse,
    accept,
  }
}

/** For a stand-in that is run as a process: prints its URL, and ends on a signal. */
export function untilSignal({ url, close }: { url: string; close: () => Promise<void> }): void {
  process.stdout.write(`${url}\n`)
  const end = () => void close().then(() => process.exit(0))
  process.once('SIGTERM', end).once('SIGINT', end)
}

/** The value of the Authorization header for `user:password`, or for `:key`. */
export const authorizationFor = (credentials: string): string =>
  credentials.startsWith(':')
    ? `Bearer ${credentials.slice(1)}`
    : `Basic ${Buffer.from(credentials).toString('base64')}`

/** `http://…` as an entry of INFERENCE_URL, with the credentials that the stand-in wants. */
export function inferenceUrlOf(kind: string, url: string, credentials: string | undefined, rest = ''): string {
  const encoded = credentials?.split(':').map(encodeURIComponent).join(':')
  return `${kind}+${encoded ? url.replace('://', `://${encoded}@`) : url}${rest}`
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const body = JSON.parse(text) as unknown
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function json(response: ServerResponse, { status, body }: StandInReply): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function cutOff(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.write(text.slice(0, text.length / 2), () => response.destroy())
}
