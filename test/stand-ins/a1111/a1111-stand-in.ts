import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { type SwitchableServer, startSwitchableServer } from '../../support/switchable-server.js'
import { createJournal, type Journal } from '../journal.js'
import { runAsProgram } from '../program.js'
import { authorizationFor, cutOff, inferenceUrlOf, json, objectIn } from '../stand-in-server.js'
import { errorBody, type StandInDialect, type StandInModel } from './dialects.js'
import { answer } from './endpoints.js'
import type { Fault, StandInSettings } from './faults.js'
import { createGpu } from './gpu.js'
import type { StandInFiles } from './settings.js'

export interface StandInOptions {
  readonly port?: number
  readonly dialect?: StandInDialect
  /** File names of its checkpoints; the first one is loaded. */
  readonly models?: readonly string[]
  /** Checkpoints that were added since it started: it lists them when it has been told to look again. */
  readonly added?: readonly string[]
  /** What it has besides checkpoints. */
  readonly files?: Partial<StandInFiles>
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

export interface A1111StandIn extends Omit<SwitchableServer, 'server'> {
  /** The same as an entry of INFERENCE_URL, with its credentials. */
  readonly inferenceUrl: string
  /** Every request. */
  readonly journal: Journal<JournalEntry>['entries']
  readonly seen: Journal<JournalEntry>['seen']
  /** The bodies of the txt2img requests so far. */
  readonly asked: () => Record<string, unknown>[]
  /** The file name of the loaded checkpoint. */
  readonly loaded: () => string
  /** How often it has loaded another checkpoint than it had. */
  readonly loads: () => number
  /** Its settings. */
  readonly options: () => Record<string, unknown>
  /** The files that prompts have named so far, and that it would have loaded: `lora:name:0.8`. */
  readonly files: () => readonly string[]
  /** How many inferences wait or are drawn. */
  readonly jobs: () => number
  /** The most inferences that were ever at work at once; 1, or the lock is broken. */
  readonly mostAtOnce: () => number
  readonly set: (settings: Partial<StandInSettings>) => void
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

/** A server that speaks /sdapi like A1111 and its relatives, draws noise instead of images, and fails on request. */
export async function startA1111StandIn(options: StandInOptions = {}): Promise<A1111StandIn> {
  const {
    dialect = 'a1111',
    auth,
    models: filenames = ['ponyDiffusionV6XL.safetensors', 'sd_xl_base_1.0.safetensors'],
  } = options
  const models = filenames.map(toModel)
  const added = (options.added ?? []).map(toModel)
  const settings: StandInSettings = {
    fault: 'none',
    times: Number.POSITIVE_INFINITY,
    scope: 'txt2img',
    sampler: null,
    latencyMs: options.latencyMs ?? 0,
    held: false,
    loaded: true,
    swapMs: options.swapMs ?? 0,
    currentImage: null,
  }
  const journal = createJournal<JournalEntry>()
  // Nobody gets as far as drawing through this API of sd-server's.
  const files = { vae: [], lora: [], upscaler: [], modules: [], broken: [], ...options.files }
  const gpu = createGpu(dialect === 'sdcpp' ? 'a1111' : dialect, models, files, settings)

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').replace(/\?.*$/, '')
    const sent = await readText(request)
    const body = objectIn(sent)
    if (path === '/stand-in/set') return json(response, { status: 200, body: set(body ?? {}) })
    if (path === '/stand-in/journal') return json(response, { status: 200, body: journal.entries })
    journal.add({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
    if (auth && request.headers.authorization !== authorizationFor(auth)) {
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
    const isHit = settings.sampler === null || body?.sampler_name === settings.sampler
    const isSetting = path === '/sdapi/v1/options'
    const isInScope = settings.scope === 'all' || (settings.scope === 'settings' ? isSetting : isTxt2img)
    const fault = isHit && isInScope ? takeFault() : 'none'
    if (await failed(fault, response)) return
    const showsImage = request.url?.includes('skip_current_image=false') ?? false
    const reply = isTxt2img
      ? await gpu.txt2img(sent, typeof fault === 'string' ? fault : 'none')
      : answer(`${request.method} ${path}`, body, { dialect, models, added, files, gpu, showsImage })
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

  const { server: _, ...server } = await startSwitchableServer(handle, options.port)
  return {
    ...server,
    inferenceUrl: inferenceUrlOf('a1111', server.url, auth),
    journal: journal.entries,
    seen: journal.seen,
    asked: () => journal.entries.flatMap(({ path, body }) => (path === '/sdapi/v1/txt2img' && body ? [body] : [])),
    loaded: gpu.loaded,
    loads: gpu.loads,
    options: gpu.options,
    files: gpu.files,
    jobs: gpu.jobs,
    mostAtOnce: gpu.mostAtOnce,
    set: (changes) => void set(changes),
    close: async () => {
      settings.held = false
      gpu.close()
      await server.refuse()
    },
  }
}

await runAsProgram(import.meta.url, ({ as, ...options }) =>
  startA1111StandIn({ ...options, ...(as && { dialect: as as StandInDialect }) }),
)
