import { timeLimit } from '../../abort-signals.js'
import { inferencePace } from '../inference-pace.js'
import { CAPABILITIES_WITHIN_MS, type InferenceBackend, isRefusal } from './backend.js'
import { backendExperience } from './backend-experience.js'
import type { BackendRegistry, ClaimedGeneration, Serves } from './claim.js'
import { type InferenceRun, inferenceRun } from './gpu-turn.js'
import { StoreFault } from './publish.js'
import { type RunOutcome, type RunPorts, runGeneration, WorkerCrash } from './run.js'

interface BackendLoopPorts extends RunPorts {
  readonly backends: BackendRegistry
}

/** How often a backend that is up is asked what it serves, and reported as alive. */
const CHECK_MS = 5000
/** The pause before the first look after an outage, doubling up to the cap. */
const PROBE_MS = 500
const PROBE_CAP_MS = 4000

/** While more generations than this are being checked and stored, the GPU waits: their images are in memory. */
const MAX_FINISHING = 4

/** Longer than a generation waits for a backend that has its model. */
const LEFT_OUT_MS = 300_000
const NEVER = new AbortController().signal
const LATE = new Error(`the backend did not say within ${CAPABILITIES_WITHIN_MS} ms what it serves`)

const UNKNOWN: Serves = { models: null, samplers: [], maxSeed: 0, sizeMultiple: 1 }
/** A server that has refused from the start counts as one without models, so that nothing waits for it. */
const NOTHING: Serves = { ...UNKNOWN, models: [] }

interface BackendLoopOptions {
  /** Names the worker process in claims and to the operator. */
  readonly worker: string
  /** For how long the oldest waiting generation may be passed over for others of the loaded model, in all. */
  readonly affinityMaxDelayMs: number
}

/**
 * Keeps one backend at work: claims what it can serve, one inference at a time, until nothing is left. While the backend
 * is down, it probes it. The next generation is claimed before the GPU is free, and the images of the last one are stored
 * while the next is drawn.
 */
export class BackendLoop {
  readonly #ports: BackendLoopPorts
  readonly #backend: InferenceBackend
  readonly #options: BackendLoopOptions
  /** Aborts when claims must stop; what runs may still finish. */
  readonly #draining = new AbortController()
  /** Aborts what runs, too. */
  readonly #leaving = new AbortController()
  /** Attempts that have not ended: one is drawn, one waits for its turn, the others are being stored. */
  readonly #unfinished = new Set<Promise<void>>()
  readonly #pace = inferencePace()
  readonly #experience = backendExperience()
  #serves = UNKNOWN
  /** The model that the server was last asked to draw with, and so has loaded. */
  #loaded: string | undefined
  #up = false
  #storeFailed = false
  #warned = false
  /** `serve` was called again: there may be work that the last claim did not see. */
  #again = false
  #outages = 0
  #busy: Promise<boolean> | undefined
  #checking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  /** Models that the server lists but does not have, and until when it is not asked for them. */
  readonly #leftOut = new Map<string, number>()

  constructor(ports: BackendLoopPorts, backend: InferenceBackend, options: BackendLoopOptions) {
    this.#ports = ports
    this.#backend = backend
    this.#options = options
  }

  /** Resolves after the first look at the backend; others follow. */
  start(): Promise<void> {
    return this.#check()
  }

  /**
   * Claims and runs until nothing claimable is left. Resolves at once when busy, down or draining.
   * @returns whether there was anything to run
   */
  serve(): Promise<boolean> {
    this.#again = true
    if (!this.#up || this.#busy || this.#draining.signal.aborted) return Promise.resolve(false)
    this.#busy = this.#workOff().finally(() => {
      this.#busy = undefined
    })
    return this.#busy
  }

  /** No more claims; resolves when everything claimed has ended. */
  async drain(): Promise<void> {
    this.#draining.abort()
    clearTimeout(this.#timer)
    await this.#busy
    await Promise.all(this.#unfinished)
  }

  /**
   * Puts the running generation back in its place, and closes the backend. `crashed`: leaves it to the reconciler, which
   * counts the worker as one that died under it.
   */
  async close(crashed = false): Promise<void> {
    this.#leaving.abort(crashed ? new WorkerCrash() : new Error('the worker is leaving'))
    await this.drain()
    await this.#checking
    await this.#backend.close()
  }

  async #workOff(): Promise<boolean> {
    let run: InferenceRun | undefined
    let generation = await this.#claim()
    const ran = generation !== undefined
    while (generation) {
      run = this.#begin(generation, run?.free ?? Promise.resolve())
      await run.nearlyFree
      await this.#room()
      generation = await this.#claim()
      if (generation) continue
      // The GPU is free now: look once more before going idle.
      await run.free
      generation = await this.#claim()
    }
    return ran
  }

  /** The first in queue order that this backend can serve, or of the model it holds. */
  async #claim(): Promise<ClaimedGeneration | undefined> {
    const { worker, affinityMaxDelayMs: maxDelayMs } = this.#options
    do {
      if (!this.#up || this.#draining.signal.aborted) return undefined
      this.#again = false
      const { msPerPixelStep } = this.#pace
      const filename = maxDelayMs === 0 ? undefined : this.#loaded
      const affinity = filename === undefined ? undefined : { filename, maxDelayMs, msPerPixelStep }
      try {
        const by = { worker, backend: this.#backend.name }
        const claimed = await this.#ports.runs.claim(by, this.#experience.without(this.#serves), affinity)
        if (claimed) return claimed
      } catch (err) {
        // Postgres is away; the next job or the next look tries again.
        this.#ports.log.warn({ err, backend: this.#backend.name }, 'claim failed')
        return undefined
      }
    } while (this.#again)
    return undefined
  }

  /** Waits while too many generations are being stored. */
  async #room(): Promise<void> {
    while (this.#unfinished.size > MAX_FINISHING) await Promise.race(this.#unfinished)
  }

  /** Starts an attempt that gets the GPU when it is free and its server is still up. */
  #begin(generation: ClaimedGeneration, gpuFree: Promise<void>): InferenceRun {
    const { id, filename } = generation
    const swaps = this.#serves.models !== null && this.#loaded !== filename
    const granted = gpuFree.then(() => {
      if (!this.#up) throw new Error('the backend is down')
    })
    const run = inferenceRun(granted, swaps ? undefined : generation, this.#pace, {
      begun: () => {
        this.#loaded = this.#serves.models === null ? undefined : filename
      },
      waits: () => this.#warnOfOthers(),
    })
    const ended = runGeneration(this.#ports, this.#backend, generation, this.#leaving.signal, run, {
      isCulprit: () => this.#experience.isCulprit(id),
      sharedFault: () => this.#experience.sharedFault(generation),
      lacksModel: () => this.#leaveOut(filename),
    })
      .then(
        (outcome) => this.#noteOutcome(generation, outcome),
        // The outcome could not be recorded: the lease runs out, and the reconciler requeues the generation.
        (err) => this.#ports.log.error({ err, generationId: id }, 'generation left to the reconciler'),
      )
      .finally(() => {
        this.#unfinished.delete(ended)
        run.ended()
      })
    this.#unfinished.add(ended)
    return run
  }

  #warnOfOthers(): void {
    if (this.#warned) return
    this.#warned = true
    this.#ports.log.warn(
      { backend: this.#backend.name },
      'the GPU server draws for others, or what could not be canceled: generations wait in its own queue; give it to one worker alone',
    )
  }

  #noteOutcome(generation: ClaimedGeneration, outcome: RunOutcome): void {
    if (typeof outcome === 'object') {
      const { down } = outcome
      if (down instanceof StoreFault) this.#storeFailed = true
      else if (down.kind === 'lost') this.#experience.noteDrop(generation.id)
      this.#wentDown(down)
      return
    }
    this.#experience.noteEnd(generation, outcome === 'succeeded')
    if (outcome === 'succeeded' || outcome === 'failed') this.#outages = 0
  }

  #leaveOut(filename: string): void {
    this.#leftOut.set(filename, performance.now() + LEFT_OUT_MS)
    this.#serves = this.#withoutLeftOut(this.#serves)
    // Announced at once, so that generations of this model do not wait for this backend.
    this.#lookAgain(0)
  }

  #withoutLeftOut(serves: Serves): Serves {
    for (const [filename, until] of this.#leftOut) if (performance.now() > until) this.#leftOut.delete(filename)
    return { ...serves, models: serves.models?.filter((filename) => !this.#leftOut.has(filename)) ?? null }
  }

  #wentDown(error: unknown): void {
    const sentence = this.#storeFailed
      ? 'backend waits until images can be stored again: make room where STORAGE_URL leads'
      : 'backend is down'
    if (this.#up || this.#outages === 0) this.#ports.log.warn({ err: error, backend: this.#backend.name }, sentence)
    this.#up = false
    this.#loaded = undefined
    this.#outages++
    // The pauses grow until a generation finishes: a server that answers the probe may still fail its work.
    this.#lookAgain(Math.min(PROBE_MS * 2 ** (this.#outages - 1), PROBE_CAP_MS))
  }

  /** Asks the backend what it serves, reports it, and schedules the next check. */
  async #check(): Promise<void> {
    const wasUp = this.#up
    const limit = timeLimit(NEVER, CAPABILITIES_WITHIN_MS)
    let refuses = false
    try {
      const capabilities = await this.#backend.capabilities(limit.signal)
      if (this.#storeFailed) await this.#ports.images.check()
      this.#storeFailed = false
      this.#serves = this.#withoutLeftOut(capabilities)
      this.#up = true
      const models = capabilities.models?.length ?? 'any'
      if (!wasUp) this.#ports.log.info({ backend: this.#backend.name, models }, 'backend is up')
    } catch (error) {
      // A server that loads a checkpoint may not answer. While it draws, its inference tells whether it is up.
      if (!this.#busy || !this.#up) this.#wentDown(limit.isOver() ? LATE : error)
      refuses = isRefusal(error) && this.#serves === UNKNOWN
    } finally {
      limit.clear()
    }
    await this.#ports.backends
      .announce(this.#options.worker, this.#backend.name, this.#up, refuses ? NOTHING : this.#serves)
      .catch((err) => this.#ports.log.warn({ err, backend: this.#backend.name }, 'backend could not be announced'))
    if (this.#up) {
      // Finds the work whose jobs came while it was down or busy.
      void this.serve()
      this.#lookAgain(CHECK_MS)
    }
  }

  #lookAgain(inMs: number): void {
    if (this.#draining.signal.aborted) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#checking = this.#check()
    }, inMs)
  }
}
