import { timeLimit } from '../../../lib/abort-signals.js'
import { inferencePace } from '../inference-pace.js'
import { CAPABILITIES_WITHIN_MS, type InferenceBackend, isRefusal, isServerFault } from './backend.js'
import { backendExperience } from './fault-attribution.js'
import { type InferenceRun, inferenceRun } from './gpu-slot.js'
import type { BackendRegistry, ClaimedGeneration, Serves } from './ports.js'
import { StoreFault } from './publish.js'
import { type RunOutcome, type RunPorts, runGeneration, WorkerCrash } from './run.js'
import { storeWatch } from './store-watch.js'
import { RUN_TIMES, type RunTimes } from './times.js'

/** While more generations than this are being stored, the GPU waits: their images are in memory. */
const MAX_FINISHING = 4

/** For how long a missing model is left out: longer than a generation waits for a backend that has it. */
const LEFT_OUT_MS = 300_000
const NEVER = new AbortController().signal
const LATE = new Error(`the backend did not say within ${CAPABILITIES_WITHIN_MS} ms what it serves`)

const UNKNOWN: Serves = { models: null, samplers: [], maxSeed: 0, sizeMultiple: 1 }
/** A server that has refused from the start counts as one without models, so that nothing waits for it. */
const NOTHING: Serves = { ...UNKNOWN, models: [] }

/**
 * Runs one backend: claims what it can serve, one inference at a time, until nothing is left, and probes it while it is
 * down. The next generation is claimed before the GPU is free, and the images of the last one are stored while the next
 * is drawn.
 * @param options `worker` names the process in claims and to the operator; `affinityMaxDelayMs`: see `Affinity`
 */
export function backendLoop(
  ports: RunPorts & { readonly backends: BackendRegistry },
  backend: InferenceBackend,
  options: {
    readonly worker: string
    readonly affinityMaxDelayMs: number
    readonly times?: Partial<RunTimes> | undefined
  },
) {
  const { worker, affinityMaxDelayMs: maxDelayMs } = options
  const times = { ...RUN_TIMES, ...options.times }
  const { runs, backends, images, log, around = (_generation, _backend, work) => work() } = ports
  /** Ends the claims; what runs may still finish. */
  const draining = new AbortController()
  /** Ends what runs, too. */
  const leaving = new AbortController()
  /** Attempts that have not ended: one is drawn, one waits for its turn, the others are being stored. */
  const unfinished = new Set<Promise<void>>()
  /** Models that the server lists but does not have, and until when it is not asked for them. */
  const leftOut = new Map<string, number>()
  const pace = inferencePace()
  const experience = backendExperience(times)
  const store = storeWatch(images)
  let serves = UNKNOWN
  /** The model of the last inference, which the server therefore has loaded. */
  let loaded: string | undefined
  /** Why it was last down. */
  let lastError: string | undefined
  let up = false
  let warnedOfOthers = false
  /** `serve` was called again: there may be work that the last claim did not see. */
  let again = false
  let outages = 0
  let busy: Promise<boolean> | undefined
  let checking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const warn = (err: unknown, sentence: string) => log.warn({ err, backend: backend.name }, sentence)

  const runClaimable = async (): Promise<boolean> => {
    let run: InferenceRun | undefined
    let generation = await claim()
    const ran = generation !== undefined
    while (generation) {
      run = begin(generation, run?.free ?? Promise.resolve())
      await run.nearlyFree
      // While it fails, one at a time: what becomes of this one decides what is claimed next.
      if (experience.isFailing()) await Promise.all(unfinished)
      while (unfinished.size > MAX_FINISHING) await Promise.race(unfinished)
      generation = await claim()
      if (generation) continue
      // The GPU is free now: claim once more before going idle.
      await run.free
      generation = await claim()
    }
    return ran
  }

  /** The first in queue order that this backend can serve, or of the model that it has loaded. */
  const claim = async (): Promise<ClaimedGeneration | undefined> => {
    do {
      if (!up || draining.signal.aborted) return undefined
      again = false
      const affinity =
        loaded === undefined || maxDelayMs === 0
          ? undefined
          : { filename: loaded, maxDelayMs, msPerPixelStep: pace.msPerPixelStep() }
      try {
        const [failing, yields] = [experience.isFailing(), experience.yields()]
        const by = { worker, backend: backend.name, failing, yields }
        const able = experience.without(serves)
        const except = experience.dropped()
        const claimed = await runs.claim({ ...by, except }, able, affinity)
        if (claimed) return claimed
        if (except.length === 0) continue
        // Nothing else waits: it is their turn again.
        experience.forgiveDropped()
        const dropped = await runs.claim(by, able, affinity)
        if (dropped) return dropped
      } catch (err) {
        // Postgres is down; the next job or poll retries.
        warn(err, 'claim failed')
        return undefined
      }
    } while (again)
    return undefined
  }

  /** Starts an attempt; it gets the GPU once that is free, if the server is still up. */
  const begin = (generation: ClaimedGeneration, gpuFree: Promise<void>): InferenceRun => {
    const { id, filename } = generation
    const loadsModel = serves.models !== null && loaded !== filename
    const granted = gpuFree.then(() => {
      if (!up) throw new Error('the backend is down')
    })
    const run = inferenceRun(granted, loadsModel ? undefined : generation, pace, {
      begun: () => {
        loaded = serves.models === null ? undefined : filename
      },
      waits: warnOfOthers,
    })
    const known = {
      isCulprit: () => experience.isCulprit(id),
      sharedFault: () => experience.sharedFault(generation),
      lacksModel: () => {
        const { leaveOut, again } = experience.noteModelFault(generation)
        if (leaveOut) leaveModelOut(filename)
        return again && !leaveOut
      },
      failed: noteFailure,
      notStored: (fault: StoreFault) => {
        // Nothing is drawn meanwhile: it could not be stored either.
        if (store.refused(id, fault)) wentDown(fault)
      },
    }
    const work = () => runGeneration(ports, backend, generation, leaving.signal, run, known, times)
    const ended = around(generation, backend.name, work)
      .then(
        (outcome) => noteOutcome(generation, outcome),
        // The outcome could not be recorded: the lease runs out, and the reconciler requeues the generation.
        (err) => log.error({ err, generationId: id }, 'generation left to the reconciler'),
      )
      .finally(() => {
        unfinished.delete(ended)
        store.ended(id)
        run.ended()
      })
    unfinished.add(ended)
    return run
  }

  const warnOfOthers = () => {
    const sentence =
      'the GPU server draws for other clients, or what was canceled, before ours: let only one worker use it'
    if (!warnedOfOthers) log.warn({ backend: backend.name }, sentence)
    warnedOfOthers = true
  }

  const noteOutcome = (generation: ClaimedGeneration, outcome: RunOutcome): void => {
    if (typeof outcome === 'object') {
      const { down } = outcome
      if (isServerFault(down)) experience.noteDrop(generation.id)
      wentDown(down)
      return
    }
    experience.noteEnd(generation, outcome === 'succeeded')
    if (outcome === 'succeeded' || outcome === 'failed') outages = 0
  }

  const noteFailure = (): void => {
    const isNew = !experience.isFailing()
    experience.noteFailure()
    // Announced immediately, so that the other backends know.
    if (isNew && up) checkIn(0)
  }

  const leaveModelOut = (filename: string): void => {
    leftOut.set(filename, performance.now() + LEFT_OUT_MS)
    serves = withoutLeftOut(serves)
    // Announced immediately, so that generations of this model do not wait for this backend.
    checkIn(0)
  }

  const withoutLeftOut = (all: Serves): Serves => {
    for (const [filename, until] of leftOut) if (performance.now() > until) leftOut.delete(filename)
    return { ...all, models: all.models?.filter((filename) => !leftOut.has(filename)) ?? null }
  }

  const wentDown = (error: unknown): void => {
    const sentence =
      error instanceof StoreFault
        ? 'backend is paused until images can be stored again: the error says why'
        : 'backend is down'
    if (up || outages === 0) warn(error, sentence)
    lastError = error instanceof Error ? error.message : String(error)
    up = false
    loaded = undefined
    // The pauses grow until a generation finishes: a server that answers the probe may still fail its work.
    checkIn(Math.min(times.probeMs * 2 ** outages++, times.probeCapMs))
  }

  /** Asks the backend what it serves, reports it, and schedules the next check. */
  const check = async (): Promise<void> => {
    const wasUp = up
    const limit = timeLimit(NEVER, CAPABILITIES_WITHIN_MS)
    let refuses = false
    try {
      const capabilities = await backend.capabilities(limit.signal)
      limit.clear()
      await store.check()
      serves = withoutLeftOut(capabilities)
      up = true
      const models = capabilities.models?.length ?? 'any'
      if (!wasUp) log.info({ backend: backend.name, models }, 'backend is up')
    } catch (error) {
      // A server that loads a checkpoint may not answer. While it draws, its inference shows whether it is up.
      if (!busy || !up) wentDown(limit.isOver() ? LATE : error)
      refuses = isRefusal(error) && serves === UNKNOWN
    } finally {
      limit.clear()
    }
    await backends
      .announce(worker, backend.name, up, refuses ? NOTHING : serves, {
        loaded,
        error: lastError,
        failing: experience.isFailing(),
      })
      .catch((err) => warn(err, 'backend could not be announced'))
    if (!up) return
    // Claims what was enqueued while the backend was down or busy.
    void serve()
    checkIn(times.checkMs)
  }

  const checkIn = (ms: number): void => {
    if (draining.signal.aborted) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      checking = check()
    }, ms)
  }

  /** Runs all that is claimable; resolves to whether there was anything. False if it is busy, down or draining. */
  const serve = (): Promise<boolean> => {
    again = true
    if (!up || busy || draining.signal.aborted) return Promise.resolve(false)
    busy = runClaimable().finally(() => {
      busy = undefined
    })
    return busy
  }

  /** No more claims; resolves when everything claimed has ended. */
  const drain = async (): Promise<void> => {
    draining.abort()
    clearTimeout(timer)
    await busy
    await Promise.all(unfinished)
  }

  return {
    /** Resolves after the first check of the backend; others follow. */
    start: check,
    serve,
    drain,
    /** Requeues what runs and closes the backend. `crashed`: the reconciler requeues it and counts the death. */
    async close(crashed = false): Promise<void> {
      leaving.abort(
        crashed ? new WorkerCrash('the worker stops because of an uncaught error') : new Error('the worker is leaving'),
      )
      await drain()
      await checking
      await backend.close()
    },
  }
}
