import { linkedSignal } from '../abort-signals.js'
import type { BackendError } from '../generation/run/backend.js'
import { callFailure, failure } from './failure.js'

/** How many others the server works for first, as far as it tells; 0: for us. Until it is told the time counts as drawing. */
export type Waiting = (before: number) => void

export interface Limits {
  readonly name: string
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** For waiting, in all; as long as `timeoutMs` unless given. */
  readonly queueMs?: number | undefined
  readonly onWaiting?: Waiting | undefined
}

/**
 * One call of the backend port, with its time: that in a server's queue, behind what nobody here could stop, counts apart
 * from the drawing.
 * @throws BackendError only: `canceled` when the signal aborted, `timeout` after `timeoutMs` of drawing, `busy` after
 *   `queueMs` of waiting, or what the work failed with
 */
export async function limited<T>(
  { name, signal, timeoutMs, queueMs = timeoutMs, onWaiting }: Limits,
  work: (stop: AbortSignal, waiting: Waiting) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const stop = linkedSignal([signal, over.signal])
  const phases = {
    drawing: { leftMs: timeoutMs, fail: () => failure('timeout', `${name} took longer than ${timeoutMs} ms`) },
    waiting: { leftMs: queueMs, fail: () => failure('busy', `${name} did not begin within ${queueMs} ms`) },
  }
  let phase = phases.drawing
  let since = performance.now()
  let timer: NodeJS.Timeout | undefined
  const run = () => {
    since = performance.now()
    timer = setTimeout(() => over.abort(phase.fail()), phase.leftMs)
  }
  const enter = (next: typeof phase) => {
    if (next === phase) return
    clearTimeout(timer)
    phase.leftMs -= performance.now() - since
    phase = next
    run()
  }
  run()
  try {
    return await work(stop.signal, (before) => {
      enter(before > 0 ? phases.waiting : phases.drawing)
      onWaiting?.(before)
    })
  } catch (error) {
    if (over.signal.aborted && !signal.aborted) throw over.signal.reason as BackendError
    throw callFailure(name, signal, error)
  } finally {
    clearTimeout(timer)
    stop.clear()
  }
}
