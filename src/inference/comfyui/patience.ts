import { setTimeout as delay } from 'node:timers/promises'
import { timeLimit } from '../../abort-signals.js'
import { BackendError, type BackendErrorKind } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'

const ASK_AGAIN_MS = 200
const PASSING: readonly BackendErrorKind[] = ['unavailable', 'unusable', 'lost', 'busy', 'backend_fault']

/** For how long a server that has our prompt may not answer before the prompt counts as lost. */
export interface Patience {
  /** One question; beyond it is asked anew. */
  readonly answerMs: number
  /** While connections are refused or dropped, or a proxy answers instead. */
  readonly awayMs: number
  /** While questions stay without an answer: a server is deaf while it loads a checkpoint. */
  readonly silentMs: number
}

/**
 * Asks until there is an answer: what the GPU has done is not thrown away for one dropped connection.
 * @throws BackendError `lost` when patience is at its end, what can't pass at once; the signal's reason when it aborted
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
      if (!silent && !(error instanceof BackendError && PASSING.includes(error.kind))) throw error
      const said = error instanceof BackendError ? error.message : `${server} did not answer`
      if (performance.now() - since > (silent ? silentMs : awayMs))
        throw failure('lost', `${said}, for too long`, error)
    } finally {
      limit.clear()
    }
    await delay(ASK_AGAIN_MS, undefined, { signal: stop })
  }
}
