import { setTimeout as delay } from 'node:timers/promises'
import { timeLimit } from '../../abort-signals.js'
import { BackendError, type BackendErrorKind } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'

const RETRY_MS = 200
const TEMPORARY: readonly BackendErrorKind[] = ['unavailable', 'unusable', 'lost', 'busy', 'backend_fault']

/** For how long a server that has our prompt may not answer before the prompt counts as lost. */
export interface Patience {
  /** The time limit of one request, which is then repeated. */
  readonly answerMs: number
  /** While connections are refused or dropped, or a proxy answers instead. */
  readonly awayMs: number
  /** While requests get no answer: a server may not answer while it loads a checkpoint. */
  readonly silentMs: number
}

/**
 * Retries a request until it is answered, so that a dropped connection does not discard the GPU's work.
 * @throws BackendError `lost` when the time is up, a permanent one immediately; the signal's reason when it aborted
 */
export async function askPatiently<T>(
  server: string,
  { answerMs, awayMs, silentMs }: Patience,
  stop: AbortSignal,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const since = performance.now()
  for (;;) {
    const limit = timeLimit(stop, answerMs)
    try {
      return await ask(limit.signal)
    } catch (error) {
      stop.throwIfAborted()
      const silent = limit.isOver()
      if (!silent && !(error instanceof BackendError && TEMPORARY.includes(error.kind))) throw error
      const said = error instanceof BackendError ? error.message : `${server} did not answer`
      if (performance.now() - since > (silent ? silentMs : awayMs))
        throw failure('lost', `${said}, for too long`, error)
    } finally {
      limit.clear()
    }
    await delay(RETRY_MS, undefined, { signal: stop })
  }
}
