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
