import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { BackendError } from '../../core/generations/run/backend.js'
import { linkedSignal, windUp, withTimeLimit } from '../../lib/abort-signals.js'
import { badOutput, failure } from '../backend-failure.js'
import { type CheckpointOptions, listedFile, notTaken } from '../checkpoint-options.js'
import { drawnImage, type Fields, fieldsOf } from '../drawn-image.js'
import { saysOutOfMemory } from '../out-of-memory.js'
import { samplersOf } from '../samplers.js'
import {
  type Asked,
  type Call,
  consecutiveRuns,
  type Limits,
  type NeededModels,
  serverBackend,
} from '../server-backend.js'
import { createServerHttp, parseServerUrl, type ServerHttp } from '../server-http.js'
import { jsonReply, publicWords } from '../server-reply.js'

const TIMES = {
  /** How long an answer may take to begin: the server has it in memory. Its images have no limit. */
  answerMs: 10_000,
  /** Between two polls of the job. */
  pollIntervalMs: 100,
  /** How long canceling may take. */
  cancelGraceMs: 800,
}
type Times = typeof TIMES

export type SdCppOptions = Limits & NeededModels & Partial<Times>

/**
 * stable-diffusion.cpp's sd-server through its own API of jobs. It keeps every seed, and no prompt can reach its
 * parameters. It reports no progress within a job, and draws a canceled job to its end, while the next one waits.
 */
export function createSdCppBackend(url: string, options: SdCppOptions) {
  const address = parseServerUrl(url)
  const sizeMultiple = declaredSizeMultiple(address.query)
  const http = createServerHttp(address)
  return serverBackend({
    http,
    limits: options,
    runsOf: consecutiveRuns,
    // Before each generation: another process with another checkpoint may have taken the port.
    discover: async (signal) => ({ ...(await discover(http, signal)), sizeMultiple }),
    offers: ({ model }) => ({ models: [model], sizeMultiple }),
    modelOf: ({ model }, filename) => (model === filename ? model : undefined),
    lacking: lackingOf,
    infer: (asked, call) => infer(http, asked, call, { ...TIMES, ...options }),
  })
}

const SIZE_MULTIPLES = [8, 16, 64]

/**
 * What the width and height must be multiples of, from the query of `sdcpp+http://host:1234?size_multiple=16`. The server
 * would round up to 64 with SD 1, SD 2 and SDXL, to 16 with Flux.2 and Wan, and to 8 with most others, and tells nowhere
 * which of them it has loaded.
 * @throws Error with one sentence
 */
function declaredSizeMultiple(query: URLSearchParams): number {
  const declared = query.get('size_multiple') ?? '64'
  const multiple = SIZE_MULTIPLES.find((known) => `${known}` === declared)
  if (multiple === undefined) throw new Error("An sdcpp backend's size_multiple must be 8, 16 or 64.")
  return multiple
}

const capabilitiesReply = z.object({
  /** A process has a single checkpoint, for as long as it runs; this is its file name. */
  model: z.object({ name: z.string() }),
  /** Not in the first versions, which made nothing but images. */
  current_mode: z.string().optional(),
  samplers: z.array(z.string()),
  schedulers: z.array(z.string()),
  /** `path` is below the directory of LoRAs, and what a request must say. */
  loras: z.array(z.object({ name: z.string(), path: z.string() })).nullish(),
  upscalers: z.array(z.object({ name: z.string() })).nullish(),
})

/** Reads what an sd-server has. It replaces an unknown method or schedule by its default. */
async function discover(http: ServerHttp, signal: AbortSignal) {
  const reply = await http.get('/sdcpp/v1/capabilities', signal)
  const { model, current_mode, samplers, schedulers, loras, upscalers } = jsonReply(http.name, reply, capabilitiesReply)
  if (current_mode !== undefined && current_mode !== 'img_gen')
    throw failure('unusable', `${http.name} has no model for images loaded, its mode is "${current_mode}"`)
  const files = { loras: loras ?? [], upscalers: upscalers ?? [] }
  return { model: model.name, samplers: samplersOf('sdcpp', samplers, schedulers), ...files }
}
type SdCppServer = Awaited<ReturnType<typeof discover>> & { readonly sizeMultiple: number }

/** Why the server can't draw with these options, a sentence each. */
function lackingOf({ loras, upscalers }: SdCppServer, options: CheckpointOptions): string[] {
  const { lora = [], hires } = options
  const taken = ['clip_skip', 'lora', 'hires', 'distilled_guidance', 'flow_shift'] as const
  return [
    ...notTaken(options, taken, { vae: 'start sd-server with --vae instead' }),
    ...lora.flatMap(({ file }) => (listedFile(loras, file) ? [] : `It does not have the LoRA "${file}".`)),
    ...(hires && !upscalers.some(({ name }) => name === hires.upscaler)
      ? [`It does not have the upscaler "${hires.upscaler}".`]
      : []),
  ]
}

/** A longer answer about a job holds its images; others are short. */
const LONGEST_WITHOUT_IMAGES = 16 * 1024
/** After so many failed polls in a row the job counts as lost. */
const MAX_FAILED_POLLS = 3

/** One job. Its seeds are consecutive: the server draws image n with the first seed + n. */
type SdCppAsked = Asked<SdCppServer>

const acceptedJob = z.object({ id: z.string().min(1) })
const job = z.object({
  /** From 1, while it is queued. */
  queue_position: z.int().nullish(),
  status: z.enum(['queued', 'generating', 'completed', 'failed', 'cancelled']),
  result: z.object({ images: z.array(z.object({ index: z.int(), b64_json: z.string() })) }).nullish(),
  error: z.object({ message: z.string().nullish() }).nullish(),
})
type Job = z.infer<typeof job>

/**
 * One job, from its submission to its images. The server draws one job at a time and can't be interrupted, so `waiting`
 * reports the queue, in which a job that was canceled while it was drawn may come first.
 * @throws BackendError; the signal's reason when it aborted
 */
async function infer(http: ServerHttp, asked: SdCppAsked, call: Call, times: Times) {
  const id = await submit(http, asked, call.stop, times)
  const path = `/sdcpp/v1/jobs/${encodeURIComponent(id)}`
  const ended = await untilEnded(http, path, asked, call, times).catch(async (error) => {
    // Nothing waits for the job any more. The server drops it if it is queued, and goes on if it is being drawn.
    await http.post(`${path}/cancel`, {}, AbortSignal.timeout(times.cancelGraceMs)).catch(() => undefined)
    throw error
  })
  call.drawn()
  return readResult(http.name, ended, asked)
}

/** The body of POST /sdcpp/v1/img_gen. */
const imgGenBody = ({ request, sampler, seeds, options, server }: SdCppAsked) => ({
  prompt: request.prompt,
  negative_prompt: request.negativePrompt,
  width: request.width,
  height: request.height,
  seed: seeds[0],
  batch_count: seeds.length,
  sample_params: {
    sample_method: sampler.name,
    scheduler: sampler.schedule,
    sample_steps: request.steps,
    ...(options.flow_shift !== undefined && { flow_shift: options.flow_shift }),
    guidance: {
      txt_cfg: request.cfgScale,
      ...(options.distilled_guidance !== undefined && { distilled_guidance: options.distilled_guidance }),
    },
  },
  ...(options.clip_skip !== undefined && { clip_skip: options.clip_skip }),
  ...(options.lora && {
    lora: options.lora.map(({ file, strength }) => ({
      path: listedFile(server.loras, file)?.path,
      multiplier: strength,
    })),
  }),
  ...(options.hires && { hires: hiresBody(options.hires, enlarged({ request, options, server })) }),
  output_format: 'png',
})

const hiresBody = ({ scale: _, ...how }: Hires, { width, height }: Size) => ({
  ...{ enabled: true, ...how },
  ...{ target_width: width, target_height: height },
})
type Hires = NonNullable<CheckpointOptions['hires']>
type Size = Pick<SdCppAsked['request'], 'width' | 'height'>

/** The size of the second pass, to which the server need not round. */
function enlarged({ request, options, server }: Pick<SdCppAsked, 'request' | 'options' | 'server'>): Size {
  const { sizeMultiple } = server
  const side = (asked: number) => Math.round((asked * (options.hires?.scale ?? 1)) / sizeMultiple) * sizeMultiple
  return { width: side(request.width), height: side(request.height) }
}

/** Returns the job's id. A job whose id is lost can't be canceled, so an abort leaves the answer its grace. */
async function submit(http: ServerHttp, asked: SdCppAsked, stop: AbortSignal, times: Times): Promise<string> {
  stop.throwIfAborted()
  const grace = windUp(stop, times.cancelGraceMs)
  const send = (limited: AbortSignal) => http.post('/sdcpp/v1/img_gen', imgGenBody(asked), limited)
  const late = () => failure('lost', `${http.name} did not say whether it took the job`)
  try {
    const reply = await withTimeLimit(grace.signal, times.answerMs, send, late)
    return jsonReply(http.name, reply, acceptedJob, asked.request, 202).id
  } finally {
    grace.clear()
  }
}

async function untilEnded(http: ServerHttp, path: string, asked: SdCppAsked, call: Call, times: Times): Promise<Job> {
  const { stop, waiting } = call
  for (let failedPolls = 0; ; ) {
    await delay(times.pollIntervalMs, undefined, { signal: stop }).catch(() => undefined)
    stop.throwIfAborted()
    let seen: Job | undefined
    try {
      seen = await poll(http, path, asked, call, times.answerMs)
      failedPolls = 0
    } catch (error) {
      stop.throwIfAborted()
      // The next poll may succeed where there was no answer in time, or none at all.
      if (error instanceof BackendError && error.kind !== 'unavailable' && error.kind !== 'lost') throw error
      if (++failedPolls === MAX_FAILED_POLLS)
        throw failure('lost', `${http.name} went away with the job: ${error}`, error)
      continue
    }
    if (!seen) throw failure('lost', `${http.name} does not know the job it took: it was restarted or replaced`)
    if (seen.status === 'queued') waiting(Math.max(1, seen.queue_position ?? 1))
    else if (seen.status === 'generating') waiting(0)
    else return seen
  }
}

/** The job, or undefined where the server does not know it. */
async function poll(http: ServerHttp, path: string, { request }: SdCppAsked, call: Call, answerMs: number) {
  const late = new AbortController()
  const end = () => late.abort(failure('lost', `${http.name} did not answer within ${answerMs} ms`))
  const timer = setTimeout(end, answerMs)
  const { signal, clear } = linkedSignal([call.stop, late.signal])
  try {
    const reply = await http.get(path, signal, (status, length) => {
      if (length !== undefined && length <= LONGEST_WITHOUT_IMAGES) return
      // No limit for megabytes on a slow line: cut off and requested again they would never arrive.
      clearTimeout(timer)
      if (status !== 200 || length === undefined) return
      call.waiting(0)
      call.drawn()
    })
    if (reply.status === 404 || reply.status === 410) return undefined
    return jsonReply(http.name, reply, job, request)
  } finally {
    clearTimeout(timer)
    clear()
  }
}

/**
 * The verified images of a job that has ended. Only they say how they were drawn, unless the server was told not to.
 * @throws BackendError `bad_output`, `model_missing` when another checkpoint drew them, or why there are none
 */
async function readResult(name: string, ended: Job, asked: SdCppAsked) {
  const { request, sampler, seeds } = asked
  if (ended.status === 'cancelled') throw failure('backend_fault', `${name}: the job was canceled by someone else`)
  if (ended.status === 'failed') {
    const words = ended.error?.message ?? ''
    throw failure(saysOutOfMemory(words) ? 'oom' : 'backend_fault', `${name} failed: ${publicWords(words, request)}`)
  }
  const bad = badOutput(name)
  const images = (ended.result?.images ?? []).toSorted((one, other) => one.index - other.index)
  if (images.length !== seeds.length || images.some(({ index }, n) => index !== n))
    throw bad(`sent the images ${images.map(({ index }) => index)} of ${seeds.length}`)
  const size = asked.options.hires && enlarged(asked)
  const drawn = await Promise.all(images.map(({ b64_json }) => drawnImage(b64_json, size ?? request, bad)))
  return drawn.map(({ bytes, infotext = '' }, n) => {
    const seed = seeds[n] as number
    const said = fieldsOf(infotext)
    requireAsAsked(name, said, seed, asked)
    const drawnWith = { sampler: sampler.name, scheduler: sampler.schedule ?? null }
    return { bytes, seed, size, madeWith: { backend: 'sdcpp', version: said('Version') ?? null, ...drawnWith } }
  })
}

function requireAsAsked(name: string, said: Fields, seed: number, { request, model, sampler }: SdCppAsked): void {
  const bad = badOutput(name)
  const differs = (key: string, asked: string | undefined) => said(key) !== undefined && said(key) !== asked
  // A field ends at a comma, which a file's name may hold.
  if (said('Model') && differs('Model', model.split(',')[0]))
    throw failure('model_missing', `${name} drew with "${said('Model')}" instead of "${model}"`)
  if (differs('Seed', `${seed}`)) throw bad(`drew the seed ${said('Seed')} instead of ${seed}`)
  const method = `${sampler.name} ${sampler.schedule}`
  if (differs('Sampler', method)) throw bad(`sampled with "${said('Sampler')}" instead of "${method}"`)
  if (differs('Steps', `${request.steps}`)) throw bad(`took ${said('Steps')} steps instead of ${request.steps}`)
}
