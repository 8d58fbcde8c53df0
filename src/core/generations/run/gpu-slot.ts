import { timeLimit, whenAborted } from '../../../lib/abort-signals.js'
import type { Work } from '../generation.js'
import { type InferencePace, remainingMs } from '../inference-pace.js'

/** When an attempt, which is claimed a little before the GPU is free, may use it. */
export interface GpuTurn {
  /** Resolves when the backend may be asked: when the GPU is this attempt's, or behind `after`. Rejects if it never may. */
  readonly granted: Promise<unknown>
  /** Where the backend is asked while it draws for the attempt before: resolves when that is drawn. */
  readonly after?: Promise<void> | undefined
  /** Called when the backend is asked, or begins to draw after a wait. */
  begun(): void
  /** The backend runs requests of others first. */
  waits(): void
  progressed(fraction: number): void
  /** Everything is drawn; the answer is still on its way. */
  over(): void
}

/** An attempt that was claimed too early is requeued after this time, so that another backend may claim it. */
export const TURN_TIMEOUT_MS = 5000

/** Whether the GPU was granted; false if not in time, or if `stop` aborts. */
export function waitForTurn({ granted }: GpuTurn, stop: AbortSignal): Promise<boolean> {
  const limit = timeLimit(stop, TURN_TIMEOUT_MS)
  return Promise.race([granted.then(() => true), whenAborted(limit.signal).then(() => false)])
    .catch(() => false)
    .finally(limit.clear)
}

/** The next generation is claimed this long before a GPU is expected to be free: longer than a claim takes. */
const CLAIM_AHEAD_MS = 500

export type GpuSlot = ReturnType<typeof gpuSlot>

/**
 * Follows one attempt's use of its GPU: it waits for its turn, draws, is almost done, is done. It waits again while the
 * server draws for others.
 * @param work undefined where the time cannot be estimated, as when a model must be loaded
 */
export function gpuSlot(
  granted: Promise<unknown>,
  work: Work | undefined,
  pace: InferencePace,
  notify: Pick<GpuTurn, 'begun' | 'waits'>,
  after?: Promise<void>,
) {
  let state: 'waiting' | 'drawing' | 'almostDone' | 'done' = 'waiting'
  let drawingSince = 0
  let timer: NodeJS.Timeout | undefined
  const almostDone = deferred()
  const done = deferred()

  const become = (next: typeof state): void => {
    clearTimeout(timer)
    if (state === 'done') return
    state = next
    if (next === 'almostDone' || next === 'done') almostDone.resolve()
    if (next === 'done') done.resolve()
  }
  const estimateEnd = (fraction: number): void => {
    if (state !== 'drawing') return
    clearTimeout(timer)
    const left = remainingMs(performance.now() - drawingSince, fraction, work && pace.expectedMs(work))
    if (left === undefined) return
    if (left <= CLAIM_AHEAD_MS) become('almostDone')
    else timer = setTimeout(() => become('almostDone'), left - CLAIM_AHEAD_MS)
  }
  // It may reject when nothing awaits it any more.
  const settled = Promise.allSettled([granted, after])
  const turn: GpuTurn = {
    ...{ granted, after },
    begun() {
      become('drawing')
      drawingSince = performance.now()
      notify.begun()
      estimateEnd(0)
    },
    waits() {
      become('waiting')
      notify.waits()
    },
    progressed: estimateEnd,
    over() {
      const hasDrawn = state === 'drawing' || state === 'almostDone'
      if (hasDrawn && work) pace.note(work, performance.now() - drawingSince)
      become('done')
    },
  }
  return {
    ...turn,
    /** Resolves when the GPU is free, or soon will be: time for the next claim. */
    almostDone: almostDone.promise,
    /** Resolves when the GPU is free. */
    done: done.promise,
    isDone: () => state === 'done',
    /** The attempt has ended, drawn or not. If it was requeued before its turn, the one before it still has the GPU. */
    ended(): void {
      void settled.then(() => become('done'))
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
