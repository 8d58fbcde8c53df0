import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { buildConnector, type Dispatcher, WebSocket } from 'undici'
import { z } from 'zod'
import { agentOf, CONNECT_TIMEOUT_MS, type ServerAddress } from '../server-http.js'
import { parsedJson } from '../server-reply.js'
import type { Graph } from './workflow/fill-workflow.js'

const OPEN_WITHIN_MS = 1_000
const RECONNECT_MS = 2_000
/** Between prompts nothing else would notice that the server or a firewall has dropped the connection. */
const KEEP_ALIVE_MS = 15_000
/** Of one message: more than any preview. As an event it may become twenty times as much in memory. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024

const serverEvent = z.object({ type: z.string(), data: z.record(z.string(), z.unknown()).catch({}) })

export type ServerEvent = z.infer<typeof serverEvent>

interface Follower {
  readonly onEvent: (event: ServerEvent) => void
  readonly onPreview: (preview: Buffer) => void
}

/** The server's events, over one connection that opens for the first prompt and stays open between prompts. */
export function createServerEvents(address: ServerAddress, reconnectMs = RECONNECT_MS) {
  let connection: ReturnType<typeof connect> | undefined
  return {
    /**
     * Passes events on until `end`. They are best effort: they may come late, in part or not at all. The server sends
     * those of a prompt to the client that the prompt names, `clientId`. `tried` resolves when the connection is open or
     * has failed, or after a second. After `retire` the next prompt opens another connection.
     */
    follow(follower: Follower) {
      if (!connection?.isUsable()) {
        connection?.closeUnlessUsed()
        connection = connect(address, reconnectMs)
      }
      const { clientId, tried, followers, retire, closeUnlessUsed } = connection
      followers.add(follower)
      return {
        clientId,
        tried,
        retire,
        end() {
          followers.delete(follower)
          closeUnlessUsed()
        },
      }
    },
    close: () => connection?.close(),
  }
}

/** Whether a connection opens within a second; a proxy before the server may not let it through. */
export async function opensEvents(address: ServerAddress): Promise<boolean> {
  const { tried, isOpen, close } = connect(address, RECONNECT_MS)
  await tried
  const opened = isOpen()
  close()
  return opened
}

/**
 * One connection under one client id. If it is cut while a prompt follows it, it connects again with the same id, so that
 * the server sends the rest there.
 */
function connect({ base, authorization }: ServerAddress, reconnectMs: number) {
  const clientId = randomUUID()
  const url = `${base.replace(/^http/, 'ws')}/ws?clientId=${clientId}`
  const sockets = new Set<Socket>()
  const agent = agentOf(base, {
    headersTimeout: 0,
    bodyTimeout: 0,
    webSocket: { maxPayloadSize: MAX_MESSAGE_BYTES },
    connect: rememberingIn(sockets),
  })
  const dispatcher = agent.compose(uncompressed)
  const followers = new Set<Follower>()
  let stream: WebSocket
  let timer: NodeJS.Timeout | undefined
  let retired = false
  let closed = false
  let openedAt = 0

  const open = (onTried: () => void) => {
    openedAt = performance.now()
    stream = new WebSocket(url, { dispatcher, headers: { ...(authorization && { authorization }) } })
    stream.binaryType = 'arraybuffer'
    stream.addEventListener('open', onTried)
    stream.addEventListener('message', ({ data }) => {
      if (followers.size === 0) return
      const event = typeof data === 'string' ? parsedJson(data, serverEvent) : undefined
      const preview = data instanceof ArrayBuffer ? previewOf(Buffer.from(data)) : undefined
      for (const { onEvent, onPreview } of followers) {
        if (event) onEvent(event)
        if (preview) onPreview(preview)
      }
    })
    stream.addEventListener('close', () => {
      onTried()
      if (closed) return
      if (followers.size === 0) return close()
      // At once, if it has been open for a while.
      const pauseMs = Math.max(0, openedAt + reconnectMs - performance.now())
      timer = setTimeout(() => open(onTried), pauseMs)
    })
  }
  const close = () => {
    if (closed) return
    closed = true
    clearTimeout(timer)
    stream.close()
    // A server that hangs would never answer the closing frame.
    for (const socket of sockets) socket.destroySoon()
    void agent.destroy()
  }

  const tried = new Promise<void>((resolve) => {
    setTimeout(resolve, OPEN_WITHIN_MS).unref()
    open(resolve)
  })
  return {
    ...{ clientId, tried, followers, close },
    isOpen: () => stream.readyState === WebSocket.OPEN,
    isUsable: () => !retired && !closed && stream.readyState <= WebSocket.OPEN,
    retire: () => {
      retired = true
    },
    closeUnlessUsed() {
      if (followers.size === 0 && (retired || stream.readyState !== WebSocket.OPEN)) close()
    },
  }
}

/** Does not offer to inflate messages, as undici's WebSocket always does: that takes longer than what it saves to send. */
const uncompressed: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (request, handler) => {
  const headers = Object.entries(request.headers ?? {}).filter(([name]) => name !== 'sec-websocket-extensions')
  return dispatch({ ...request, headers: Object.fromEntries(headers) }, handler)
}

/** Connects as undici does, and keeps the sockets, which an agent forgets once they are WebSockets. */
function rememberingIn(sockets: Set<Socket>): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, keepAliveInitialDelay: KEEP_ALIVE_MS })
  return (options, done) =>
    connect(options, (...[error, socket]) => {
      if (error) return done(error, null)
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      done(null, socket)
    })
}

const PREVIEW = 1
const PREVIEW_WITH_METADATA = 4

/** The image in a binary message, after its kind and format, or after its kind, the metadata's length and metadata. */
function previewOf(bytes: Buffer): Buffer | undefined {
  if (bytes.length <= 8) return undefined
  const kind = bytes.readUInt32BE(0)
  if (kind === PREVIEW) return bytes.subarray(8)
  return kind === PREVIEW_WITH_METADATA ? bytes.subarray(8 + bytes.readUInt32BE(4)) : undefined
}

/** Decoding and saving the images come after the last step. */
const SAMPLING_SHARE = 0.95

const nodeSteps = z.object({ value: z.number(), max: z.number().positive() })

/** Takes events, and reports each change of the steps of all samplers as one fraction. */
export function createProgress(samplers: Graph['samplers'], report: (fraction: number) => void) {
  const sampled = new Map<unknown, number>(samplers.map(({ node }) => [node, 0]))
  const total = samplers.reduce((sum, { steps }) => sum + steps, 0)
  const note = (node: unknown, state: unknown) => {
    const before = sampled.get(node)
    const { data: steps } = nodeSteps.safeParse(state)
    const fraction = steps ? Math.min(1, steps.value / steps.max) : 0
    if (before === undefined || fraction <= before) return
    sampled.set(node, fraction)
    const done = samplers.reduce((sum, { node: id, steps: its }) => sum + its * (sampled.get(id) ?? 0), 0)
    report((SAMPLING_SHARE * done) / total)
  }
  return ({ type, data }: ServerEvent): void => {
    const { nodes } = data
    if (type === 'progress') note(data.node, data)
    else if (type === 'progress_state') for (const [node, state] of Object.entries(nodes ?? {})) note(node, state)
    else if (type === 'execution_cached' && Array.isArray(nodes))
      for (const node of nodes) note(node, { value: 1, max: 1 })
  }
}
