import { timeLimit } from '../abort-signals.js'

/** Runs `work` with a time limit. If that ends it, it fails with `late`'s error. */
export async function within<T>(
  signal: AbortSignal,
  ms: number,
  work: (limited: AbortSignal) => Promise<T>,
  late?: () => Error,
): Promise<T> {
  const limit = timeLimit(signal, ms)
  try {
    return await work(limit.signal)
  } catch (error) {
    throw late && limit.isOver() ? late() : error
  } finally {
    limit.clear()
  }
}
