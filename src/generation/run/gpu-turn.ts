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
