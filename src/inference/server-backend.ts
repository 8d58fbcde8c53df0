import type { Sampler } from '../core/generations/generation.js'
import { MAX_SEED, SIZE_STEP } from '../core/generations/generation.js'
import type {
  Capabilities,
  InferenceBackend,
  InferenceOptions,
  InferenceRequest,
  InferredImage,
} from '../core/generations/run/backend.js'
import { linkedSignal } from '../lib/abort-signals.js'
import { isStorable } from '../lib/text.js'
import { callFailure, failure, samplerUnavailable, unsupported } from './backend-failure.js'
import { probe } from './recognize.js'
import type { ServerSampler } from './samplers.js'
import type { ServerHttp } from './server-http.js'

/** One inference of a server: what was asked, against which the answer is verified. */
export interface Asked<Server, Model = string> {
  readonly request: InferenceRequest
  readonly server: Server
  /** The model under the server's own name. */
  readonly model: Model
  readonly sampler: ServerSampler
  /** The seeds of this inference, one per image. */
  readonly seeds: readonly number[]
}

type Waiting = NonNullable<InferenceOptions['onWaiting']>

/** How one inference is stopped and followed; its callbacks are those of InferenceOptions. */
export interface Call {
  /** Aborts when the inference is no longer wanted. */
  readonly stop: AbortSignal
  /** Until called, the time counts as drawing. */
  readonly waiting: Waiting
  /** Reports the fraction of this inference. */
  readonly report: (fraction: number) => void
  readonly onPreview: InferenceOptions['onPreview']
  readonly drawn: () => void
  readonly hasEnded: NonNullable<InferenceOptions['hasEnded']>
}

/** The time limits of one `generate`. */
export interface Limits {
  /** Without the time in which the server runs other requests first. */
  readonly timeoutMs: number
  /** Of that time; `timeoutMs` unless given. */
  readonly queueMs?: number
}

type Offers = Omit<Capabilities, 'samplers'>

interface Discovered {
  readonly samplers: ReadonlyMap<Sampler, ServerSampler>
}

interface ServerKind<Server extends Discovered, Model> {
  readonly http: ServerHttp
  readonly limits: Limits
  /** Use what was discovered until a generation fails, instead of asking before each. */
  readonly remembers?: boolean
  /** `known`: the last result, unless a generation has failed since. */
  discover(signal: AbortSignal, known: Server | undefined): Promise<Server>
  /** Unless it says otherwise, a server takes every seed and size of ours. */
  offers(server: Server): Pick<Offers, 'models'> & Partial<Offers>
  modelOf(server: Server, filename: string): Model | undefined
  /** Splits the seeds into one list per inference. */
  runsOf(seeds: readonly number[]): readonly (readonly number[])[]
  infer(asked: Asked<Server, Model>, call: Call): Promise<InferredImage[]>
}

/** A backend for one kind of server: everything but the protocol. */
export function serverBackend<Server extends Discovered, Model>(kind: ServerKind<Server, Model>): InferenceBackend {
  const { http, limits, remembers = false } = kind
  const { name } = http
  let known: Server | undefined

  async function ask(signal: AbortSignal): Promise<Server> {
    known = await probe(http, limits.timeoutMs, signal, (limited) => kind.discover(limited, known))
    return known
  }

  const offersOf = (server: Server): Offers => {
    const offers = kind.offers(server)
    // The catalog has no other names, and Postgres would refuse the whole list.
    const models = offers.models?.filter(isStorable) ?? null
    return { maxSeed: MAX_SEED, sizeMultiple: SIZE_STEP, ...offers, models }
  }

  /** @throws BackendError `model_missing`, `unsupported`, or what asking the server failed with */
  async function prepare(request: InferenceRequest, stop: AbortSignal): Promise<Omit<Asked<Server, Model>, 'seeds'>> {
    const remembered = remembers && known && kind.modelOf(known, request.model) !== undefined ? known : undefined
    const server = remembered ?? (await ask(stop))
    const model = kind.modelOf(server, request.model)
    const offers = offersOf(server)
    if (model === undefined) {
      const has = offers.models?.length === 1 ? `has "${offers.models[0]}" and not` : 'does not list'
      throw failure('model_missing', `${name} ${has} "${request.model}"`)
    }
    const sampler = server.samplers.get(request.sampler)
    if (!sampler) throw samplerUnavailable(name, request.sampler)
    requireKept(name, offers, request)
    return { request, server, model, sampler }
  }

  async function draw(request: InferenceRequest, call: Call): Promise<InferredImage[]> {
    const asked = await prepare(request, call.stop)
    const images: InferredImage[] = []
    const total = request.seeds.length
    for (const seeds of kind.runsOf(request.seeds)) {
      const done = images.length
      const report = (fraction: number) => call.report((done + fraction * seeds.length) / total)
      const drawn = done + seeds.length === total ? call.drawn : () => undefined
      images.push(...(await kind.infer({ ...asked, seeds }, { ...call, report, drawn })))
      report(1)
    }
    return images
  }

  return {
    name,

    async capabilities(signal) {
      const server = await ask(signal).catch((error) => {
        throw callFailure(name, signal, error)
      })
      return { ...offersOf(server), samplers: [...server.samplers.keys()] }
    },

    generate: (request, { signal, onWaiting, onProgress, onPreview, onDrawn, hasEnded = async () => false }) =>
      limited(name, limits, signal, onWaiting, (stop, waiting) => {
        const call = { stop, waiting, report: risingProgress(onProgress), onPreview, drawn: once(onDrawn), hasEnded }
        return draw(request, call).catch((error) => {
          if (!signal.aborted) known = undefined // the server may be another one by now
          throw error
        })
      }),

    close: () => http.close(),
  }
}

/** Refuses what the server would silently change: a seed, size or cfg_scale that it does not support. */
function requireKept(
  name: string,
  { maxSeed, sizeMultiple, maxCfgScale = Number.POSITIVE_INFINITY }: Offers,
  { seeds, width, height, cfgScale }: InferenceRequest,
): void {
  if (seeds.some((seed) => seed > maxSeed))
    throw unsupported(name, `keeps no seed above ${maxSeed}`, `Seeds above ${maxSeed} are not available`)
  if (width % sizeMultiple !== 0 || height % sizeMultiple !== 0)
    throw unsupported(
      name,
      `rounds ${width}x${height} to multiples of ${sizeMultiple}`,
      `Only sizes in multiples of ${sizeMultiple} are available`,
    )
  if (cfgScale > maxCfgScale)
    throw unsupported(
      name,
      `takes no cfg_scale above ${maxCfgScale}`,
      `A cfg_scale above ${maxCfgScale} is not available`,
    )
}

/** Servers give image n the seed + n and never wrap: a batch that passes 2^32 - 1 becomes two inferences. */
export function consecutiveRuns(seeds: readonly number[]): number[][] {
  const runs: number[][] = []
  for (const seed of seeds) {
    const run = runs.at(-1)
    if (run && run.at(-1) === seed - 1) run.push(seed)
    else runs.push([seed])
  }
  return runs
}

/** Reports progress that never falls, and never throws: progress is best effort. */
function risingProgress(report: InferenceOptions['onProgress']) {
  let highest = 0
  return (progress: number) => {
    if (progress <= highest) return
    highest = progress
    try {
      report?.(progress)
    } catch {
      // the listener's fault, not the generation's
    }
  }
}

function once(callback: (() => void) | undefined) {
  let called = false
  return () => {
    if (!called) callback?.()
    called = true
  }
}

/**
 * Runs `work` within its time limits; the time in the server's queue counts separately from the drawing.
 * @throws BackendError only: `canceled` when the signal aborted, `timeout` after `timeoutMs` of drawing, `busy` after
 *   `queueMs` of waiting, or what the work failed with
 */
async function limited<T>(
  name: string,
  { timeoutMs, queueMs = timeoutMs }: Limits,
  signal: AbortSignal,
  onWaiting: Waiting | undefined,
  work: (stop: AbortSignal, waiting: Waiting) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const stop = linkedSignal([signal, over.signal])
  const phases = {
    drawing: { leftMs: timeoutMs, fail: () => failure('timeout', `${name} took longer than ${timeoutMs} ms`) },
    waiting: { leftMs: queueMs, fail: () => failure('busy', `${name} did not begin within ${queueMs} ms`) },
  }
  let phase = phases.drawing
  let since = performance.now()
  let timer: NodeJS.Timeout | undefined
  const enter = (next: typeof phase) => {
    clearTimeout(timer)
    phase.leftMs -= performance.now() - since
    phase = next
    since = performance.now()
    timer = setTimeout(() => over.abort(next.fail()), next.leftMs)
  }
  enter(phase)
  try {
    return await work(stop.signal, (before) => {
      enter(before > 0 ? phases.waiting : phases.drawing)
      onWaiting?.(before)
    })
  } catch (error) {
    if (over.signal.aborted && !signal.aborted) throw over.signal.reason
    throw callFailure(name, signal, error)
  } finally {
    clearTimeout(timer)
    stop.clear()
  }
}
