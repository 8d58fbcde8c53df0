import { timeLimit } from '../abort-signals.js'
import { callFailure, failure } from './failure.js'

/**
 * One call of the backend port, with its time.
 * @throws BackendError only: `canceled` when the signal aborted, `timeout` after `timeoutMs`, or what the work failed with
 */
export async function limited<T>(
  { name, signal, timeoutMs }: { readonly name: string; readonly signal: AbortSignal; readonly timeoutMs: number },
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = timeLimit(signal, timeoutMs)
  try {
    return await work(limit.signal)
  } catch (error) {
    if (limit.isOver() && !signal.aborted) throw failure('timeout', `${name} took longer than ${timeoutMs} ms`)
    throw callFailure(name, signal, error)
  } finally {
    limit.clear()
  }
}
