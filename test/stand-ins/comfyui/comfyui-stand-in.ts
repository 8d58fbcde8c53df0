import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { buffer as readBytes } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { type WebSocket, WebSocketServer } from 'ws'
import { acceptUpgrade } from '../../support/raw-websocket.js'
import { type SwitchableServer, startSwitchableServer } from '../../support/switchable-server.js'
import { createJournal, type Journal } from '../journal.js'
import { runAsProgram } from '../program.js'
import { authorizationFor, cutOff, inferenceUrlOf, objectIn } from '../stand-in-server.js'
import { answer, type Reply } from './endpoints.js'
import type { Fault, StandInSettings } from './faults.js'
import { type Files, type Nodes, nodesOf, type Version } from './nodes.js'
import { createQueue, type QueueOptions } from './queue.js'

export interface StandInOptions {
  readonly port?: number
  /**
   * `old`: no listing of checkpoints, an id of its own for each prompt, an interrupt that hits whatever runs, a history
   * without status; `new`: jobs that can be canceled by id, ids that must be UUIDs, lists as COMBO.
   */
  readonly version?: Version
  /** Names of its checkpoints, as it spells them. */
  readonly models?: readonly string[]
  readonly samplers?: readonly string[]
  /** What its other loaders have. */
  readonly loads?: Files
  /** `user:password`, as a proxy in front would ask for. */
  readonly auth?: string
  readonly latencyMs?: number
  /** Told of each execution when it begins; `ended` resolves when it has ended, before anybody is told. */
  readonly onExecution?: QueueOptions['onExecution']
}

export interface JournalEntry {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown> | undefined
}

export interface ComfyuiStandIn extends Omit<SwitchableServer, 'server'> {
  /** The same as an entry of INFERENCE_URL, with its credentials. */
  readonly inferenceUrl: string
  /** Every request. */
  readonly journal: Journal<JournalEntry>['entries']
  readonly seen: Journal<JournalEntry>['seen']
  /** The bodies of the POSTs to /prompt so far. */
  readonly asked: () => Record<string, unknown>[]
  /** Its classes of nodes, which a test may change. */
  readonly nodes: Nodes
  /** What it has saved, by `type/subfolder/filename`. */
  readonly files: Map<string, Buffer>
  /** The ids of the prompts that run and that wait. */
  readonly queue: () => string[]
  /** As text, all that it knows of prompts. */
  readonly kept: () => { readonly queue: string; readonly 'history or files': string }
  /** How many WebSockets are open. */
  readonly sockets: () => number
  readonly cutSockets: () => void
  /** How many requests hang. */
  readonly hanging: () => number
  readonly set: (settings: Partial<StandInSettings>) => void
  /** Cuts all connections and forgets the queue and the history, as a restart does. */
  readonly restart: () => void
  readonly close: () => Promise<void>
}

/** A server that speaks ComfyUI's API, draws noise instead of images, and fails on request. */
export async function startComfyuiStandIn(options: StandInOptions = {}): Promise<ComfyuiStandIn> {
  const {
    version = '0.3.64',
    auth,
    models: checkpoints = ['ponyDiffusionV6XL.safetensors', 'sd_xl_base_1.0.safetensors'],
  } = options
  const settings: StandInSettings = {
    fault: 'none',
    times: Number.POSITIVE_INFINITY,
    on: 'POST /prompt',
    run: 'none',
    socket: 'none',
    latencyMs: options.latencyMs ?? 0,
    held: false,
  }
  const journal = createJournal<JournalEntry>()
  const files = new Map<string, Buffer>()
  /** Each client's newest socket. */
  const clients = new Map<string, WebSocket>()
  const nodes = nodesOf(checkpoints, options.samplers, options.loads)
  let hanging = 0

  const queue = createQueue({ settings, files, send, onExecution: options.onExecution })
  const webSockets = new WebSocketServer({ noServer: true })
  const { server, ...http } = await startSwitchableServer(handle, options.port)
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    log(request, undefined)
    if (settings.socket === 'refused' || refusal(request)) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    if (typeof settings.socket === 'object') {
      socket.on('error', () => undefined)
      acceptUpgrade(request, socket, settings.socket.extensions)
      return void socket.write(settings.socket.bytes)
    }
    const clientId = new URL(request.url ?? '/', 'http://host').searchParams.get('clientId') ?? ''
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => undefined)
      // As the server does, even where the client has another one by now.
      webSocket.on('close', () => clients.delete(clientId))
      clients.set(clientId, webSocket)
      send('status', { status: queue.remaining(), sid: clientId }, clientId)
      const node = queue.nodeOf(clientId)
      if (node !== undefined) send('executing', { node }, clientId)
    })
  })

  function send(type: string, data: Record<string, unknown>, to: string | undefined): void {
    if (settings.socket === 'silent') return
    const { prompt_id: _, ...withoutId } = data
    const old = version === 'old'
    if (old && type === 'progress_state') return
    for (const [clientId, webSocket] of clients) {
      if (to !== 'all' && to !== clientId) continue
      webSocket.send(JSON.stringify({ type, data: old && type === 'progress' ? withoutId : data }))
      if (type !== 'progress') continue
      webSocket.send(
        Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 1]), Buffer.from(`a preview of ${data.prompt_id}`)]),
      )
      if (settings.socket === 'dies') webSocket.terminate()
    }
  }

  function log(request: IncomingMessage, body: JournalEntry['body']): void {
    journal.add({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
  }

  /** A browser's request from another site is refused, like one without the credentials. */
  function refusal({ headers }: IncomingMessage): Reply | undefined {
    if (headers.origin !== undefined) return { status: 403, body: '' }
    if (!auth || headers.authorization === authorizationFor(auth)) return undefined
    return { status: 401, body: 'Unauthorized' }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://host')
    const bytes = await readBytes(request)
    const text = bytes.toString()
    const type = request.headers['content-type'] ?? ''
    const form = type.startsWith('multipart/')
      ? await new Response(bytes, { headers: { 'content-type': type } }).formData()
      : undefined
    if (url.pathname === '/stand-in/set') return reply(response, { status: 200, body: set(objectIn(text) ?? {}) })
    if (url.pathname === '/stand-in/journal') return reply(response, { status: 200, body: journal.entries })
    log(request, objectIn(text))
    const refused = refusal(request)
    if (refused) return reply(response, refused)
    const fault = takeFault(`${request.method} ${url.pathname}`)
    if (typeof fault === 'object')
      return reply(response, { status: fault.status, body: fault.body ?? 'broken on request' })
    if (fault === 'garbage') return reply(response, { status: 200, body: '<html>Sign in</html>' })
    if (fault === 'drop') return void response.destroy()
    if (fault === 'hang') {
      hanging++
      await once(response, 'close')
      hanging--
      return
    }
    if (fault === 'late') await over(fault)
    const said = await answer(request.method ?? '', url, text, form, { version, checkpoints, nodes, queue, files })
    if (fault === 'late_answer') await over(fault)
    if (fault === 'drop_answer') return void response.destroy()
    if (fault === 'drop_mid_reply') return cutOff(response, JSON.stringify(said.body))
    reply(response, said)
  }

  async function over(fault: Fault): Promise<void> {
    while (settings.fault === fault) await delay(5)
  }

  function takeFault(what: string): Fault {
    const { fault, on } = settings
    if (fault === 'none' || !what.startsWith(on)) return 'none'
    if (--settings.times <= 0) set({ fault: 'none' })
    return fault
  }

  function set(changes: Partial<StandInSettings>): StandInSettings {
    if (changes.fault !== undefined && changes.times === undefined) settings.times = Number.POSITIVE_INFINITY
    return Object.assign(settings, changes)
  }

  return {
    ...http,
    inferenceUrl: inferenceUrlOf('comfyui', http.url, auth),
    journal: journal.entries,
    seen: journal.seen,
    asked: () =>
      journal.entries.flatMap(({ method, path, body }) =>
        method === 'POST' && path === '/prompt' && body ? [body] : [],
      ),
    nodes,
    files,
    queue: queue.ids,
    kept: () => ({
      queue: JSON.stringify(queue.view()),
      'history or files': [
        JSON.stringify(queue.ends()),
        ...[...files.values()].map((it) => it.toString('latin1')),
      ].join(),
    }),
    sockets: () => webSockets.clients.size,
    hanging: () => hanging,
    cutSockets: () => {
      for (const webSocket of webSockets.clients) webSocket.terminate()
    },
    set: (changes) => void set(changes),
    restart: () => {
      queue.forget()
      http.cut()
    },
    close: async () => {
      settings.fault = 'none'
      queue.forget()
      await http.refuse()
    },
  }
}

function reply(response: ServerResponse, { status, body }: Reply): void {
  const type = Buffer.isBuffer(body) ? 'image/png' : typeof body === 'string' ? 'text/plain' : 'application/json'
  const bytes = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': type }).end(bytes)
}

await runAsProgram(import.meta.url, ({ as, ...options }) =>
  startComfyuiStandIn({ ...options, ...(as && { version: as as Version }) }),
)
