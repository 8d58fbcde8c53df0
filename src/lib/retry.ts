/** Retries with growing pauses for about this long, or until the signal aborts, then rejects with the last error. */
export async function retryFor<T>(work: () => Promise<T>, forMs: number, signal?: AbortSignal): Promise<T> {
  const until = performance.now() + forMs
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2000)) {
    try {
      return await work()
    } catch (error) {
      if (signal?.aborted || performance.now() + pauseMs > until) throw error
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

/** 15.6 s together. The first is longer than the pause after a command that Redis did not answer (redis/client.ts). */
const PAUSES_MS = [1100, 1500, 3000, 4000, 6000]

/** Tries work that may be repeated and done late. Waits for the first try only; the others keep no process alive. */
export async function retryInBackground(work: () => Promise<unknown>, pauses = PAUSES_MS): Promise<void> {
  const [pauseMs, ...later] = pauses
  try {
    await work()
  } catch {
    if (pauseMs !== undefined) setTimeout(() => void retryInBackground(work, later), pauseMs).unref()
  }
}
