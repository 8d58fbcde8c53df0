import { timeLimit, whenAborted } from '../../../lib/abort-signals.js'
import type { Work } from '../generation.js'
import { type inferencePace, remainingMs } from '../inference-pace.js'

/** When an attempt, which is claimed a little before the GPU is free, may use it. */
export interface GpuTurn {
  /** Resolves when the GPU is this attempt's; rejects if it will never be. */
  readonly granted: Promise<unknown>
  /** Called when the backend is asked, and again when it begins to draw after a wait. */
  begun(): void
  /** The backend runs requests of others first. */
  waits(): void
  progressed(fraction: number): void
  /** Everything is drawn; the answer is still on its way. */
  over(): void
}

/** An attempt that was claimed too early is requeued after this time, so that another backend may claim it. */
const TURN_TIMEOUT_MS = 5000

/** Whether the GPU was granted; false if not in time, or if `stop` aborts. */
export function waitForTurn({ granted }: GpuTurn, stop: AbortSignal): Promise<boolean> {
  const limit = timeLimit(stop, TURN_TIMEOUT_MS)
  return Promise.race([granted.then(() => true), whenAborted(limit.signal).then(() => false)])
    .catch(() => false)
    .finally(limit.clear)
}

/** The next generation is claimed this long before a GPU is expected to be free: longer than a claim takes. */
const CLAIM_AHEAD_MS = 500

export type InferenceRun = ReturnType<typeof inferenceRun>

/**
 * Follows one attempt's use of its GPU.
 * @param work undefined where the time cannot be estimated, as when a model must be loaded
 */
export function inferenceRun(
  granted: Promise<unknown>,
  work: Work | undefined,
  pace: ReturnType<typeof inferencePace>,
  notify: Pick<GpuTurn, 'begun' | 'waits'>,
) {
  let begunAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  let drawing = false
  const nearlyFree = deferred()
  const free = deferred()
  const estimateEnd = (fraction: number) => {
    clearTimeout(timer)
    if (begunAt === undefined) return
    const left = remainingMs(performance.now() - begunAt, fraction, work && pace.expectedMs(work))
    if (left === undefined) return
    if (left <= CLAIM_AHEAD_MS) nearlyFree.resolve()
    else timer = setTimeout(nearlyFree.resolve, left - CLAIM_AHEAD_MS)
  }
  const end = () => {
    clearTimeout(timer)
    begunAt = undefined
    nearlyFree.resolve()
    free.resolve()
  }
  // It may reject when nothing awaits it any more.
  const settled = granted.catch(() => undefined)
  const turn: GpuTurn = {
    granted,
    begun() {
      drawing = true
      begunAt = performance.now()
      notify.begun()
      estimateEnd(0)
    },
    waits() {
      clearTimeout(timer)
      begunAt = undefined
      notify.waits()
    },
    progressed: estimateEnd,
    over() {
      if (begunAt !== undefined && work) pace.note(work, performance.now() - begunAt)
      end()
    },
  }
  return {
    ...turn,
    /** Resolves when the GPU is free, or soon will be: time for the next claim. */
    nearlyFree: nearlyFree.promise,
    free: free.promise,
    /** The attempt has ended, drawn or not. */
    ended() {
      if (drawing) end()
      // Requeued before its turn: the attempt before it still has the GPU.
      else void settled.then(end)
    },
  }
}

function deferred() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
