import { timeLimit, whenAborted } from '../../abort-signals.js'
import type { Work } from '../generation.js'
import { type inferencePace, remainingMs } from '../inference-pace.js'

/**
 * When a claimed attempt may use its backend. The next generation is claimed a little before the GPU is free, and is
 * checked and stored while the one after it is drawn, so that the GPU waits for neither.
 */
export interface GpuTurn {
  /** Resolves when the GPU is this attempt's; rejects when it will not be. */
  readonly granted: Promise<unknown>
  /** The backend is asked now; called again when it has waited and begins to draw. */
  begun(): void
  /** The backend does what others have asked of it first. */
  waits(): void
  progressed(fraction: number): void
  /** The backend has drawn everything; its answer is still on its way. */
  over(): void
  /** The backend has given the attempt up and can take its next request. */
  freed(): void
}

/** An attempt that was claimed too early goes back after this time, so that another backend may take it. */
const PATIENCE_MS = 5000

/** Whether the GPU was granted; false when it will not be soon, or when `stop` aborts. */
export async function waitForTurn({ granted }: GpuTurn, stop: AbortSignal): Promise<boolean> {
  const limit = timeLimit(stop, PATIENCE_MS)
  const given = granted.then(
    () => true,
    () => false,
  )
  return Promise.race([given, whenAborted(limit.signal).then(() => false)]).finally(limit.clear)
}

/** The next generation is claimed this long before a GPU is expected to be free: longer than a claim takes. */
const AHEAD_MS = 500

export interface InferenceRun extends GpuTurn {
  /** Resolves when the GPU is free, or soon will be: time for the next claim. */
  readonly nearlyFree: Promise<void>
  readonly free: Promise<void>
  /** The attempt has ended, whatever it had drawn. */
  ended(): void
}

/**
 * Follows one attempt's use of its GPU.
 * @param work undefined where the time cannot be foreseen, as while a model is loaded
 * @param tell `begun` when the backend is asked, `waits` when it does something else first
 */
export function inferenceRun(
  granted: Promise<unknown>,
  work: Work | undefined,
  pace: ReturnType<typeof inferencePace>,
  tell: Pick<GpuTurn, 'begun' | 'waits'>,
): InferenceRun {
  let begunAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  let drawing = false
  const nearlyFree = deferred()
  const free = deferred()
  const look = (fraction: number) => {
    clearTimeout(timer)
    if (begunAt === undefined) return
    const left = remainingMs(performance.now() - begunAt, fraction, work && pace.expectedMs(work))
    if (left === undefined) return
    if (left <= AHEAD_MS) nearlyFree.resolve()
    else timer = setTimeout(nearlyFree.resolve, left - AHEAD_MS)
  }
  const end = () => {
    clearTimeout(timer)
    begunAt = undefined
    nearlyFree.resolve()
    free.resolve()
  }
  // It may reject after everybody who awaits it has ended.
  const settled = granted.catch(() => undefined)
  return {
    granted,
    nearlyFree: nearlyFree.promise,
    free: free.promise,
    begun() {
      drawing = true
      begunAt = performance.now()
      tell.begun()
      look(0)
    },
    waits() {
      clearTimeout(timer)
      begunAt = undefined
      tell.waits()
    },
    progressed: look,
    over() {
      if (begunAt !== undefined && work) pace.note(work, performance.now() - begunAt)
      end()
    },
    freed: end,
    ended() {
      if (drawing) end()
      // It went back before its turn: the attempt before it still has the GPU.
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
