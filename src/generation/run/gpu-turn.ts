import { type inferencePace, remainingMs, type Work } from '../inference-pace.js'

/**
 * When a claimed attempt may use its backend. The next generation is claimed a little before the one that is being
 * drawn is done, and is checked and stored beside the one after it, so that the GPU waits for neither.
 */
export interface GpuTurn {
  /** Resolves when the GPU is this attempt's; rejects when it is not to be had. */
  readonly comes: Promise<unknown>
  /** The backend is asked now; again when it has waited and begins to draw. */
  begun(): void
  /** The backend does what others have asked of it first. */
  waits(): void
  /** 0 to 1. */
  progressed(fraction: number): void
  /** The backend has drawn everything; its answer is still on its way. */
  over(): void
  /** The backend has given it up and can take its next request. */
  freed(): void
}

/** Whoever was claimed too early goes back, so that another backend may take it. */
const PATIENCE_MS = 5000

/** Whether the turn has come; false when it won't, or not soon. Resolves at once when `stop` aborts. */
export async function turnComes({ comes }: GpuTurn, stop: AbortSignal): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  let end: (() => void) | undefined
  const ended = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PATIENCE_MS)
    end = () => resolve(false)
    stop.addEventListener('abort', end, { once: true })
    if (stop.aborted) end()
  })
  const come = comes.then(
    () => true,
    () => false,
  )
  try {
    return await Promise.race([come, ended])
  } finally {
    clearTimeout(timer)
    if (end) stop.removeEventListener('abort', end)
  }
}

/** The next generation is claimed this long before a GPU is expected to be free: longer than a claim takes. */
const AHEAD_MS = 500

export interface InferenceRun extends GpuTurn {
  /** Resolves when the GPU is free, or soon will be: time to claim what comes next. */
  readonly nearlyFree: Promise<void>
  /** Resolves when the GPU is free. */
  readonly free: Promise<void>
  /** The attempt has ended, whatever it had drawn. */
  ended(): void
}

/**
 * Follows one attempt's use of its GPU.
 * @param comes when the GPU is free for it
 * @param work undefined where loading its model makes the time unforeseeable
 * @param tell `begun` when the backend is asked, `waits` when it does something else first
 */
export function inferenceRun(
  comes: Promise<unknown>,
  work: Work | undefined,
  pace: ReturnType<typeof inferencePace>,
  tell: { readonly begun: () => void; readonly waits: () => void },
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
  // A turn that will not come rejects; whoever awaits it may have ended before.
  const settled = comes.catch(() => undefined)
  return {
    comes,
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
      // It went back before its turn: the GPU is still the one's before it.
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
