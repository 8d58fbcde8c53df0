import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { errorBody, type StandInDialect, type StandInModel } from './a1111-stand-in-dialects.js'
import { answer } from './a1111-stand-in-endpoints.js'
import type { Fault, StandInSettings } from './a1111-stand-in-faults.js'
import { createGpu, type Reply } from './a1111-stand-in-gpu.js'

export interface StandInOptions {
  readonly port?: number
  readonly dialect?: StandInDialect
  /** File names of its checkpoints; the first one is loaded. */
  readonly models?: readonly string[]
  /** `user:password`, as `--api-auth` takes it. */
  readonly auth?: string
  readonly latencyMs?: number
  /** What loading another checkpoint takes. */
  readonly swapMs?: number
  /** Told of each inference when it is asked for; `ended` resolves to whether its answer was sent whole. */
  readonly onTxt2img?: (body: Record<string, unknown>, ended: Promise<boolean>) => void
}

export interface JournalEntry {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown> | undefined
}

export interface A1111StandIn {
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** The same as an entry of INFERENCE_URL, with its credentials. */
  readonly inferenceUrl: string
  readonly port: number
  /** Every request, oldest first; the oldest go when there are 10,000. */
  readonly journal: JournalEntry[]
  /** The bodies of the txt2img requests so far. */
  readonly asked: () => Record<string, unknown>[]
  /** The file name of the loaded checkpoint. */
  readonly loaded: () => string
  /** The most inferences that were ever at work at once; 1, or the lock is broken. */
  readonly mostAtOnce: () => number
  readonly set: (settings: Partial<StandInSettings>) => void
  /** Stops listening and cuts all connections, until `accept`. */
  readonly refuse: () => Promise<void>
  readonly accept: () => Promise<void>
  /** Resolves with the next request (or one already made) that matches. */
  readonly seen: (matches: (entry: JournalEntry) => boolean) => Promise<JournalEntry>
  readonly close: () => Promise<void>
}

const OUT_OF_MEMORY = {
  error: 'OutOfMemoryError',
  detail: '',
  body: '',
  errors: 'CUDA out of memory. Tried to allocate 9.00 GiB',
}

const toModel = (filename: string): StandInModel => ({
  filename,
  hash: createHash('sha256').update(filename).digest('hex').slice(0, 10),
})

/** A server that speaks /sdapi like A1111 and its relatives, draws noise instead of pictures, and fails on request. */
export async function startA1111StandIn(options: StandInOptions = {}): Promise<A1111StandIn> {
  const {
    dialect = 'a1111',
    auth,
    models: filenames = ['ponyDiffusionV6XL.safetensors', 'sd_xl_base_1.0.safetensors'],
  } = options
  const models = filenames.map(toModel)
  const settings: StandInSettings = {
    fault: 'none',
    times: Number.POSITIVE_INFINITY,
    scope: 'txt2img',
    latencyMs: options.latencyMs ?? 0,
    swapMs: options.swapMs ?? 0,
    currentImage: null,
  }
  const journal: JournalEntry[] = []
  const events = new EventEmitter().setMaxListeners(0)
  const gpu = createGpu(dialect, models, settings)
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').replace(/\?.*$/, '')
    const sent = await readText(request)
    const body = parse(sent)
    if (path === '/stand-in/set') return json(response, { status: 200, body: set(body ?? {}) })
    if (path === '/stand-in/journal') return json(response, { status: 200, body: journal })
    journal.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
    if (journal.length > 10_000) journal.shift()
    events.emit('request')
    if (auth && request.headers.authorization !== `Basic ${Buffer.from(auth).toString('base64')}`) {
      response.setHeader('www-authenticate', 'Basic')
      return json(response, {
        status: 401,
        body: errorBody(dialect, 401, 'HTTPException', 'Incorrect username or password'),
      })
    }
    const isTxt2img = path === '/sdapi/v1/txt2img' && request.method === 'POST'
    if (isTxt2img)
      options.onTxt2img?.(
        body ?? {},
        once(response, 'close').then(() => response.writableFinished),
      )
    const fault = isTxt2img || settings.scope === 'all' ? takeFault() : 'none'
    if (await failed(fault, response)) return
    const showsImage = request.url?.includes('skip_current_image=false') ?? false
    if (!isTxt2img)
      return json(response, answer(`${request.method} ${path}`, body, { dialect, models, gpu, showsImage }))
    const reply = await gpu.txt2img(sent, typeof fault === 'string' ? fault : 'none')
    if (fault === 'drop_mid_reply') return cutOff(response, JSON.stringify(reply.body))
    return json(response, reply)
  }

  function takeFault(): Fault {
    const { fault } = settings
    if (fault !== 'none' && --settings.times <= 0) set({ fault: 'none' })
    return fault
  }

  /** Whether the fault has dealt with the request. */
  async function failed(fault: Fault, response: ServerResponse): Promise<boolean> {
    if (typeof fault === 'object') {
      const { status, body = errorBody(dialect, status, 'HTTPException', 'broken on request') } = fault
      json(response, { status, body })
    } else if (fault === 'out_of_memory') json(response, { status: 500, body: OUT_OF_MEMORY })
    else if (fault === 'garbage') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Gradio</html>')
    else if (fault === 'drop') response.destroy()
    else if (fault === 'hang') await once(response, 'close')
    else return false
    return true
  }

  function set(changes: Partial<StandInSettings>): StandInSettings {
    if (changes.fault !== undefined && changes.times === undefined) settings.times = Number.POSITIVE_INFINITY
    return Object.assign(settings, changes)
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
  const credentials = auth ? `${auth.split(':').map(encodeURIComponent).join(':')}@` : ''
  return {
    url: `http://127.0.0.1:${port}`,
    inferenceUrl: `a1111+http://${credentials}127.0.0.1:${port}`,
    port,
    journal,
    asked: () => journal.flatMap(({ path, body }) => (path === '/sdapi/v1/txt2img' && body ? [body] : [])),
    loaded: gpu.loaded,
    mostAtOnce: gpu.mostAtOnce,
    set: (changes) => void set(changes),
    refuse,
    accept,
    seen: async (matches) => {
      for (;;) {
        const entry = journal.find(matches)
        if (entry) return entry
        await once(events, 'request')
      }
    },
    close: async () => {
      gpu.close()
      await refuse()
    },
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const body = JSON.parse(text) as unknown
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function json(response: ServerResponse, { status, body }: Reply): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(status === 204 ? undefined : JSON.stringify(body))
}

function cutOff(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.write(text.slice(0, text.length / 2), () => response.destroy())
}

/** `tsx test/support/a1111-stand-in.ts --port 7860`: prints its URL and runs until it is told to end. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      dialect: { type: 'string' },
      model: { type: 'string', multiple: true },
      auth: { type: 'string' },
      'latency-ms': { type: 'string' },
    },
  })
  const standIn = await startA1111StandIn({
    port: Number(values.port ?? 0),
    latencyMs: Number(values['latency-ms'] ?? 0),
    ...(values.dialect && { dialect: values.dialect as StandInDialect }),
    ...(values.model && { models: values.model }),
    ...(values.auth && { auth: values.auth }),
  })
  process.stdout.write(`${standIn.url}\n`)
  const end = () => void standIn.close().then(() => process.exit(0))
  process.once('SIGTERM', end).once('SIGINT', end)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
