import { timeLimit } from '../abort-signals.js'
import { BackendError } from '../generation/backend.js'
import { failure } from './failure.js'

const PROBE_TIMEOUT_MS = 10_000

/**
 * Asks a server what it is and has, within 10 s (or `timeoutMs`, if that is less).
 * @throws BackendError `unavailable` or `auth` and nothing else; the signal's reason when it aborted
 */
export async function probe<T>(
  { name, signal, timeoutMs }: { readonly name: string; readonly signal: AbortSignal; readonly timeoutMs: number },
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = timeLimit(signal, Math.min(timeoutMs, PROBE_TIMEOUT_MS))
  try {
    return await ask(limit.signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BackendError && error.kind === 'auth') throw error
    const message = error instanceof BackendError ? error.message : `${name} did not answer in time`
    throw failure('unavailable', message, error)
  } finally {
    limit.clear()
  }
}
