import { runAsProgram } from '../program.js'
import {
  authorizationFor,
  inferenceUrlOf,
  type StandInReply,
  type StandInRequest,
  type StandInServer,
  startStandInServer,
  type WireFault,
} from '../stand-in-server.js'
import { createJobs, type DrawnWrong, type Jobs } from './jobs.js'

export interface SdCppStandInOptions {
  readonly port?: number
  /** The file name of its checkpoint. */
  readonly model?: string
  readonly loras?: readonly string[]
  readonly sizeMultiple?: number
  /** Of its `inferenceUrl`. */
  readonly query?: string
  /** `user:password`, as a proxy before it may want. */
  readonly auth?: string
  /** How long it draws an image. */
  readonly latencyMs?: number
}

export interface SdCppSettings {
  fault: WireFault | DrawnWrong
  /** Which calls a fault of the wire hits. */
  on: 'img_gen' | 'job' | 'cancel' | 'capabilities' | 'all'
  /** How many more calls it hits. */
  times: number
  model: string
  mode: string
  /** Below its directory of LoRAs. */
  loras: readonly string[]
  /** Names of the models that enlarge images; it has others built in. */
  upscalers: readonly string[]
  /** To what it rounds sizes up: 64 for a UNet, 8 or 16 for transformers. */
  sizeMultiple: number
  latencyMs: number
  /** Draws the running job until this is false again. */
  held: boolean
}

export interface SdCppStandIn extends StandInServer {
  /** As an entry of INFERENCE_URL, with its credentials. */
  readonly inferenceUrl: string
  /** The bodies of the jobs it was asked for, as they came. */
  readonly asked: () => string[]
  readonly jobs: Jobs
  readonly set: (settings: Partial<SdCppSettings>) => void
  readonly close: () => Promise<void>
}

const SAMPLERS = [
  ...[
    'euler',
    'euler_a',
    'heun',
    'dpm2',
    'dpm++2s_a',
    'dpm++2m',
    'dpm++2mv2',
    'dpm++2m_sde',
    'dpm++2m_sde_bt',
    'ipndm',
  ],
  ...['ipndm_v', 'lcm', 'ddim_trailing', 'tcd', 'res_multistep', 'res_2s', 'lms'],
]
const SCHEDULERS = ['discrete', 'normal', 'karras', 'exponential', 'ays', 'gits', 'sgm_uniform', 'simple']

/** A server that speaks stable-diffusion.cpp's API of jobs as recorded, draws noise, and fails on request. */
export async function startSdCppStandIn(options: SdCppStandInOptions = {}): Promise<SdCppStandIn> {
  const { auth } = options
  const settings: SdCppSettings = {
    fault: 'none',
    on: 'img_gen',
    times: Number.POSITIVE_INFINITY,
    model: options.model ?? 'ponyDiffusionV6XL.safetensors',
    mode: 'img_gen',
    loras: options.loras ?? [],
    upscalers: [],
    sizeMultiple: options.sizeMultiple ?? 64,
    latencyMs: options.latencyMs ?? 0,
    held: false,
  }
  const jobs = createJobs(settings, { samplers: SAMPLERS, schedulers: SCHEDULERS })

  function set(changes: Partial<SdCppSettings>): void {
    if (changes.fault !== undefined && changes.times === undefined) settings.times = Number.POSITIVE_INFINITY
    Object.assign(settings, changes)
    jobs.look()
  }

  function faultOf(request: StandInRequest): WireFault {
    const { fault, on } = settings
    if (!isOfTheWire(fault) || fault === 'none' || (on !== 'all' && on !== callOf(request))) return 'none'
    if (--settings.times <= 0) set({ fault: 'none' })
    return fault
  }

  function answer(request: StandInRequest): StandInReply {
    const [, id = ''] = /^\/sdcpp\/v1\/jobs\/([\w-]+)/.exec(request.path) ?? []
    switch (`${request.method} ${callOf(request)}`) {
      case 'GET capabilities':
        return { status: 200, body: capabilities(settings) }
      case 'POST img_gen':
        return jobs.submit(request.text)
      case 'GET job':
        return jobs.show(id)
      case 'POST cancel':
        return jobs.cancel(id)
      default:
        return { status: 404, body: null }
    }
  }

  const server = await startStandInServer({
    ...(options.port !== undefined && { port: options.port }),
    authorization: auth && authorizationFor(auth),
    unauthorized: { status: 401, body: { error: 'unauthorized' } },
    faultOf,
    answer,
    set,
  })
  return {
    ...server,
    inferenceUrl: inferenceUrlOf('sdcpp', server.url, auth, options.query),
    asked: () => server.journal.flatMap((request) => (callOf(request) === 'img_gen' ? [request.text] : [])),
    jobs,
    set,
    close: async () => {
      jobs.forget()
      await server.refuse()
    },
  }
}

const isOfTheWire = (fault: SdCppSettings['fault']): fault is WireFault =>
  typeof fault === 'object' || ['none', 'hang', 'drop', 'drop_mid_reply', 'slow_reply', 'garbage'].includes(fault)

function callOf({ path }: StandInRequest): SdCppSettings['on'] | 'unknown' {
  if (path === '/sdcpp/v1/capabilities') return 'capabilities'
  if (path === '/sdcpp/v1/img_gen') return 'img_gen'
  if (/^\/sdcpp\/v1\/jobs\/[\w-]+$/.test(path)) return 'job'
  return /^\/sdcpp\/v1\/jobs\/[\w-]+\/cancel$/.test(path) ? 'cancel' : 'unknown'
}

/** Of the many fields, those that say what the server is and has. */
const capabilities = ({ model, mode, loras, upscalers }: SdCppSettings) => ({
  current_mode: mode,
  features: { cancel_generating: false, cancel_queued: true },
  limits: { max_batch_count: 8, max_height: 4096, max_queue_size: 64, max_width: 4096, min_height: 64, min_width: 64 },
  model: { name: model, path: `/srv/models/${model}`, stem: model.replace(/\.[a-z]+$/, '') },
  loras: loras.map((path) => ({ name: path.replace(/^.*\/|\.[^.]*$/g, ''), path })),
  upscalers: ['None', 'Lanczos', 'Latent', ...upscalers].map((name) => ({ name })),
  output_formats: ['png', 'jpeg', 'webp'],
  samplers: SAMPLERS,
  schedulers: SCHEDULERS,
  supported_modes: [mode],
})

await runAsProgram(import.meta.url, ({ models, ...options }) =>
  startSdCppStandIn({ ...options, ...(models?.[0] && { model: models[0] }) }),
)
