import type { InferencePace } from '../inference-pace.js'
import { type InferenceBackend, isServerFault } from './backend.js'
import type { BackendHealth } from './backend-health.js'
import type { FaultAttribution } from './fault-attribution.js'
import { type GpuSlot, gpuSlot } from './gpu-slot.js'
import type { ClaimedGeneration } from './ports.js'
import type { StoreFault } from './publish.js'
import { type BackendFaults, type RunOutcome, type RunPorts, runGeneration } from './run.js'
import type { StoreWatch } from './store-watch.js'
import type { RunTimes } from './times.js'

/** While more generations than this are being stored, the GPU waits: their images are in memory. */
const MAX_FINISHING = 4

interface KnownOfBackend {
  readonly health: Pick<
    BackendHealth,
    'isUp' | 'loads' | 'drawsWith' | 'wentDown' | 'hasFinished' | 'modelIsMissing' | 'announceSoon'
  >
  readonly attribution: FaultAttribution
  readonly store: Pick<StoreWatch, 'refused' | 'ended'>
  readonly pace: InferencePace
}

export type Attempts = ReturnType<typeof backendAttempts>

/** The attempts of one backend: begins them, notes how they end, and knows which have not ended. */
export function backendAttempts(
  ports: RunPorts,
  backend: InferenceBackend,
  { health, attribution, store, pace }: KnownOfBackend,
  times: RunTimes,
) {
  const { log, around = (_generation, _backend, work) => work() } = ports
  /** One is drawn, one waits for its turn, the others are being stored. */
  const unfinished = new Set<Promise<void>>()
  /** Ends all of them. */
  const leaving = new AbortController()
  let warnedOfOthers = false

  const warnOfOthers = () => {
    const sentence =
      'the GPU server draws for other clients, or what was canceled, before ours: let only one worker use it'
    if (!warnedOfOthers) log.warn({ backend: backend.name }, sentence)
    warnedOfOthers = true
  }

  /** What one attempt asks and tells of its backend. */
  const faultsOf = (generation: ClaimedGeneration): BackendFaults => ({
    isCulprit: () => attribution.isCulprit(generation.id),
    sharedFault: () => attribution.sharedFault(generation),
    lacksModel: () => {
      const { leaveOut, again } = attribution.noteModelFault(generation)
      if (leaveOut) health.modelIsMissing()
      return again && !leaveOut
    },
    failed: () => {
      const isNew = !attribution.isFailing()
      attribution.noteFailure()
      // Immediately, so that the other backends know.
      if (isNew) health.announceSoon()
    },
    notStored: (fault: StoreFault) => {
      // Nothing is drawn meanwhile: it could not be stored either.
      if (store.refused(generation.id, fault)) health.wentDown(fault)
    },
  })

  const noteOutcome = (generation: ClaimedGeneration, outcome: RunOutcome): void => {
    if (typeof outcome === 'object') {
      const { down } = outcome
      if (isServerFault(down)) attribution.noteDrop(generation.id)
      health.wentDown(down)
      return
    }
    attribution.noteEnd(generation, outcome === 'succeeded')
    if (outcome === 'succeeded' || outcome === 'failed') health.hasFinished()
  }

  return {
    /**
     * Starts an attempt, if the server is still up: once the GPU is free, or at once if the server draws one request after
     * the other by itself.
     */
    begin(generation: ClaimedGeneration, gpuFree: Promise<void>, isDrawing = false): GpuSlot {
      const { id, filename } = generation
      const after = isDrawing && backend.queues?.() ? gpuFree : undefined
      const granted = (after === undefined ? gpuFree : Promise.resolve()).then(() => {
        if (!health.isUp()) throw new Error('the backend is down')
      })
      const notify = { begun: () => health.drawsWith(filename), waits: warnOfOthers }
      const slot = gpuSlot(granted, health.loads(filename) ? undefined : generation, pace, notify, after)
      const work = () => runGeneration(ports, backend, generation, leaving.signal, slot, faultsOf(generation), times)
      const ended = around(generation, backend.name, work)
        .then(
          (outcome) => noteOutcome(generation, outcome),
          // The outcome could not be recorded: the lease runs out, and the reconciler requeues the generation.
          (err) => log.error({ err, generationId: id }, 'generation left to the reconciler'),
        )
        .finally(() => {
          unfinished.delete(ended)
          store.ended(id)
          slot.ended()
        })
      unfinished.add(ended)
      return slot
    },
    /** Resolves when another one may be claimed. */
    async roomForAnother(): Promise<void> {
      // While it fails, one at a time: what becomes of this one decides what is claimed next.
      if (attribution.isFailing()) await Promise.all(unfinished)
      while (unfinished.size > MAX_FINISHING) await Promise.race(unfinished)
    },
    /** Resolves when all have ended. */
    async ended(): Promise<void> {
      await Promise.all(unfinished)
    },
    /** Puts back what has not ended. @param reason a `WorkerCrash` leaves it to the reconciler instead, which counts the death */
    leave(reason: Error): void {
      leaving.abort(reason)
    },
  }
}
