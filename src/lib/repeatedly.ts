const EVERY_MS = 1000

/** Makes a pass now, and a second after each has ended, until it is stopped. */
export function repeatedly(
  pass: (signal: AbortSignal) => Promise<void>,
  onFault: (error: unknown) => void,
): { stop(): void } {
  const stopping = new AbortController()
  const { signal } = stopping
  let timer: NodeJS.Timeout | undefined
  const run = async () => {
    try {
      await pass(signal)
    } catch (error) {
      if (!signal.aborted) onFault(error)
    }
    if (!signal.aborted) timer = setTimeout(run, EVERY_MS)
  }
  void run()

  return {
    /** Does not wait: what is unfinished becomes due again. */
    stop() {
      stopping.abort()
      clearTimeout(timer)
    },
  }
}

/**
 * Claims items that are due, some at a time, and works on them at once, until none is left.
 * @throws the first failure of a round, once the others of it have ended
 */
export async function workOff<T>(
  claimDue: () => Promise<readonly T[]>,
  work: (item: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const due = await claimDue()
    if (due.length === 0) return
    const ends = await Promise.allSettled(due.map(work))
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
  }
}
