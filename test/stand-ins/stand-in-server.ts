/** What every stand-in for an inference server needs: real HTTP, a journal, and faults of the wire. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { type SwitchableServer, startSwitchableServer } from '../support/switchable-server.js'
import { createJournal, type Journal } from './journal.js'

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
  readonly headers?: Record<string, string>
  /** A page, instead of the body. */
  readonly html?: string
}

export type WireFault =
  | 'none'
  /** Takes the request and never answers. */
  | 'hang'
  /** Closes the connection instead of answering, or in the middle of the answer. */
  | 'drop'
  | 'drop_mid_reply'
  /** The second half of an answer of some length comes when the fault is over. */
  | 'slow_reply'
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

export interface StandInServer extends Omit<SwitchableServer, 'server'> {
  /** Every request. */
  readonly journal: Journal<StandInRequest>['entries']
  readonly seen: Journal<StandInRequest>['seen']
}

export async function startStandInServer(options: StandInServerOptions): Promise<StandInServer> {
  const { authorization, unauthorized, faultOf, answer, set } = options
  const journal = createJournal<StandInRequest>()

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '/', headers } = incoming
    const text = await readText(incoming)
    const request = { method, path, headers, text, body: objectIn(text) }
    if (path === '/stand-in/set') {
      set(request.body ?? {})
      return json(response, { status: 200, body: {} })
    }
    journal.add(request)
    if (authorization && headers.authorization !== authorization) return json(response, unauthorized)
    const fault = faultOf(request)
    if (typeof fault === 'object') json(response, { body: {}, ...fault })
    else if (fault === 'garbage') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>nginx</html>')
    else if (fault === 'drop') response.destroy()
    else if (fault === 'hang') await once(response, 'close')
    else if (fault === 'drop_mid_reply') cutOff(response, JSON.stringify((await answer(request)).body))
    else if (fault === 'slow_reply') {
      const { body } = await answer(request)
      await inTwoHalves(response, JSON.stringify(body), () => faultOf(request) === 'slow_reply')
    } else json(response, await answer(request))
  }

  const { server: _, ...server } = await startSwitchableServer(handle, options.port)
  return { ...server, journal: journal.entries, seen: journal.seen }
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

export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const body = JSON.parse(text) as unknown
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

export function json(response: ServerResponse, { status, body, headers, html }: StandInReply): void {
  const bytes = status === 204 ? undefined : (html ?? JSON.stringify(body))
  response.writeHead(status, { 'content-type': html ? 'text/html' : 'application/json', ...headers }).end(bytes)
}

async function inTwoHalves(response: ServerResponse, text: string, isSlow: () => boolean): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.write(text.slice(0, text.length / 2))
  while (text.length > 16 * 1024 && isSlow() && !response.destroyed) await delay(5)
  response.end(text.slice(text.length / 2))
}

export function cutOff(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.write(text.slice(0, text.length / 2), () => response.destroy())
}
