/** Repeats what failed, with growing pauses, for about this long; then its last error counts. */
export async function retryFor<T>(write: () => Promise<T>, forMs: number): Promise<T> {
  const until = performance.now() + forMs
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2000)) {
    try {
      return await write()
    } catch (error) {
      if (performance.now() + pauseMs > until) throw error
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}
