import { linkedSignal } from '../../abort-signals.js'
import type { GenerationWatch } from '../follow-ports.js'
import type { GenerationView } from '../generation.js'
import type { Following } from './follow.js'
import { hasEnded, type Polled } from './poll.js'

/** Resolves to the generation's state once its status or place is another one than seen, or to what was seen last. */
export const waitForChange = (
  following: Following,
  seen: Polled,
  timeoutMs: number,
  signals: readonly AbortSignal[],
): Promise<Polled> =>
  firstTold(
    (tell) =>
      following.follow(seen, false, (change) => {
        if (change.kind !== 'preview') tell(change.now)
      }),
    seen,
    timeoutMs,
    signals,
  )

/** Resolves when the generation has ended, or to undefined at the time-out or when one of the signals aborts. */
export const waitForEnd = (
  { watch }: GenerationWatch,
  id: string,
  timeoutMs: number,
  signals: readonly AbortSignal[],
): Promise<GenerationView | undefined> =>
  firstTold<GenerationView | undefined>(
    (tell) =>
      watch(id, undefined, (view) => {
        if (hasEnded(view)) tell(view)
      }),
    undefined,
    timeoutMs,
    signals,
  )

/** @param subscribe tells later, never while it is called; returns how to unsubscribe */
function firstTold<T>(
  subscribe: (tell: (value: T) => void) => () => void,
  otherwise: T,
  timeoutMs: number,
  signals: readonly AbortSignal[],
): Promise<T> {
  return new Promise((resolve) => {
    const settle = (value: T) => {
      clearTimeout(timeout)
      stop.clear()
      unsubscribe()
      resolve(value)
    }
    const giveUp = () => settle(otherwise)
    const stop = linkedSignal(signals)
    const timeout = setTimeout(giveUp, timeoutMs)
    const unsubscribe = subscribe(settle)
    stop.signal.addEventListener('abort', giveUp, { once: true })
    if (stop.signal.aborted) giveUp()
  })
}
