import type { DefinitionStore, ModelDefinition } from '../core/catalog/model-definition.js'
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
import { type CheckpointDocument, type CheckpointOptions, checkpointOf } from './checkpoint-options.js'
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
  /** How the model's definition says to draw with its checkpoint; empty for a plain checkpoint. */
  readonly options: CheckpointOptions
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
  readonly after: InferenceOptions['after']
  readonly hasEnded: NonNullable<InferenceOptions['hasEnded']>
}

/** The time limits of one `generate`. */
export interface Limits {
  /** Without the time in which the server runs other requests first. */
  readonly timeoutMs: number
  /** Of that time; `timeoutMs` unless given. */
  readonly queueMs?: number
}

/** What a worker tells each of its backends. */
export interface NeededModels {
  /** The definitions of models that are needed now. */
  readonly definitions?: DefinitionStore['needed'] | undefined
}

type Offers = Omit<Capabilities, 'samplers'>

interface Discovered {
  readonly samplers: ReadonlyMap<Sampler, ServerSampler>
}

interface ServerKind<Server extends Discovered, Model> {
  readonly http: ServerHttp
  readonly limits: Limits & NeededModels
  /** Use what was discovered until a generation fails, instead of asking before each. */
  readonly remembers?: boolean
  /** `known`: the last result, unless a generation has failed since; `definitions`: those that are needed now. */
  discover(signal: AbortSignal, known: Server | undefined, definitions: readonly ModelDefinition[]): Promise<Server>
  /** See InferenceBackend; false unless given. */
  queues?(server: Server): boolean
  /** Unless it says otherwise, a server takes every seed and size of ours. */
  offers(server: Server): Pick<Offers, 'models'> & Partial<Offers>
  modelOf(server: Server, filename: string): Model | undefined
  /** Why the server can't draw a checkpoint with these options, a sentence each; none if it can. */
  lacking(server: Server, options: CheckpointOptions): readonly string[]
  /** Whether it tells in `offers` which workflows it draws with; without it, it draws with none. */
  readonly drawsWorkflows?: boolean
  /** Splits the seeds into one list per inference. */
  runsOf(seeds: readonly number[]): readonly (readonly number[])[]
  infer(asked: Asked<Server, Model>, call: Call): Promise<InferredImage[]>
}

/** A server as it was when it was asked, and the definitions that were needed then, by name. */
interface Known<Server> {
  readonly server: Server
  readonly definitions: ReadonlyMap<string, ModelDefinition>
}

/** A backend for one kind of server: everything but the protocol. */
export function serverBackend<Server extends Discovered, Model>(kind: ServerKind<Server, Model>): InferenceBackend {
  const { http, limits, remembers = false } = kind
  const { name } = http
  let known: Known<Server> | undefined

  async function ask(signal: AbortSignal): Promise<Known<Server>> {
    const needed = (await limits.definitions?.()) ?? []
    const look = (limited: AbortSignal) => kind.discover(limited, known?.server, needed)
    const server = await probe(http, limits.timeoutMs, signal, look)
    known = { server, definitions: new Map(needed.map((definition) => [definition.filename, definition])) }
    return known
  }

  const lacksOf = (server: Server, { checkpoint, options }: CheckpointDocument): readonly string[] => [
    ...(kind.modelOf(server, checkpoint) === undefined ? [`It does not have the checkpoint "${checkpoint}".`] : []),
    ...kind.lacking(server, options),
  ]

  /** How a definition says to draw with a checkpoint; undefined for a plain checkpoint and for a workflow. */
  const checkpointIn = ({ definitions }: Known<Server>, filename: string): CheckpointDocument | undefined => {
    const definition = definitions.get(filename)
    return definition && checkpointOf(definition)
  }

  const offersOf = (now: Known<Server>): Offers => {
    const offers = kind.offers(now.server)
    const lacks = [...now.definitions.keys()].flatMap((filename) => {
      const checkpoint = checkpointIn(now, filename)
      if (checkpoint) return [[filename, lacksOf(now.server, checkpoint)] as const]
      return kind.drawsWorkflows ? [] : [[filename, ['It draws no workflows: only ComfyUI does.']] as const]
    })
    const able = lacks.filter(([, sentences]) => sentences.length === 0).map(([filename]) => filename)
    // The catalog has no other names, and Postgres would refuse the whole list.
    const models = offers.models ? [...offers.models.filter(isStorable), ...able] : null
    const unable = new Map([...(offers.lacks ?? []), ...lacks.filter(([, sentences]) => sentences.length > 0)])
    const found = { ...offers, models, ...(unable.size > 0 && { lacks: unable }) }
    return { maxSeed: MAX_SEED, sizeMultiple: SIZE_STEP, ...found }
  }

  const isOffered = (now: Known<Server>, filename: string): boolean => {
    const checkpoint = checkpointIn(now, filename)
    return checkpoint ? lacksOf(now.server, checkpoint).length === 0 : kind.modelOf(now.server, filename) !== undefined
  }

  /** @throws BackendError `model_missing`, `unsupported`, or what asking the server failed with */
  async function prepare(request: InferenceRequest, stop: AbortSignal) {
    const now = remembers && known && isOffered(known, request.model) ? known : await ask(stop)
    const { server } = now
    const defined = checkpointIn(now, request.model)
    const model = kind.modelOf(server, defined?.checkpoint ?? request.model)
    const offers = offersOf(now)
    if (model === undefined || !isOffered(now, request.model)) {
      const lacks = offers.lacks?.get(request.model)
      const has = offers.models?.length === 1 ? `has "${offers.models[0]}" and not` : 'does not list'
      throw failure('model_missing', `${name} ${has} "${request.model}"${lacks ? `: ${lacks.join(' ')}` : ''}`)
    }
    const sampler = server.samplers.get(request.sampler)
    if (!sampler) throw samplerUnavailable(name, request.sampler)
    requireKept(name, offers, request)
    const asked: Omit<Asked<Server, Model>, 'seeds'> = {
      ...{ request, server, model, sampler },
      options: defined?.options ?? {},
    }
    return { asked, definition: now.definitions.get(request.model) }
  }

  async function draw(request: InferenceRequest, call: Call): Promise<InferredImage[]> {
    const { asked, definition } = await prepare(request, call.stop)
    const images: InferredImage[] = []
    const total = request.seeds.length
    for (const seeds of kind.runsOf(request.seeds)) {
      const done = images.length
      const report = (fraction: number) => call.report((done + fraction * seeds.length) / total)
      const drawn = done + seeds.length === total ? call.drawn : () => undefined
      images.push(...(await kind.infer({ ...asked, seeds }, { ...call, report, drawn })))
      report(1)
    }
    if (!definition) return images
    const of = { name: definition.filename, hash: definition.hash }
    return images.map((image) => ({ ...image, madeWith: { ...image.madeWith, definition: of } }))
  }

  return {
    name,

    async capabilities(signal) {
      const now = await ask(signal).catch((error) => {
        throw callFailure(name, signal, error)
      })
      return { ...offersOf(now), samplers: [...now.server.samplers.keys()] }
    },

    queues: () => known !== undefined && kind.queues?.(known.server) === true,

    generate: (request, { signal, after, onWaiting, onProgress, onPreview, onDrawn, hasEnded = async () => false }) =>
      limited(name, limits, signal, after !== undefined, onWaiting, (stop, waiting) => {
        const report = risingProgress(onProgress)
        const call = { stop, after, waiting, report, onPreview, drawn: once(onDrawn), hasEnded }
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
  const lacks = (why: string, told: string) => unsupported(name, why, told)
  if (seeds.some((it) => it > maxSeed))
    throw lacks(`keeps no seed above ${maxSeed}`, `Seeds above ${maxSeed} are not available on the GPU servers.`)
  if (width % sizeMultiple !== 0 || height % sizeMultiple !== 0)
    throw lacks(
      `rounds ${width}x${height} to multiples of ${sizeMultiple}`,
      `Only sizes in multiples of ${sizeMultiple} are available on the GPU servers.`,
    )
  if (cfgScale > maxCfgScale)
    throw lacks(
      `takes no cfg_scale above ${maxCfgScale}`,
      `A cfg_scale above ${maxCfgScale} is not available on the GPU servers.`,
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
 * Runs `work` within its time limits; the time in the server's queue counts separately from the drawing. @throws BackendError
 * only: `canceled` when `signal` aborted, `timeout` after `timeoutMs` of drawing, `busy` after `queueMs` of waiting, or its own
 */
async function limited<T>(
  name: string,
  { timeoutMs, queueMs = timeoutMs }: Limits,
  signal: AbortSignal,
  waits: boolean,
  onWaiting: Waiting | undefined,
  work: (stop: AbortSignal, waiting: Waiting) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const stop = linkedSignal([signal, over.signal])
  const phases = {
    drawing: { leftMs: timeoutMs, fail: () => failure('timeout', `${name} took longer than ${timeoutMs} ms`) },
    waiting: { leftMs: queueMs, fail: () => failure('busy', `${name} did not begin within ${queueMs} ms`) },
  }
  let phase = waits ? phases.waiting : phases.drawing
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
