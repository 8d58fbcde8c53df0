import type { Following } from './follow.js'
import type { GenerationWatch } from './follow-ports.js'
import type { GenerationView } from './generation.js'
import { hasEnded, type Polled } from './poll.js'

/** Resolves to the generation's state once its status or place is another one than seen, or to what was seen last. */
export const waitForChange = (
  following: Following,
  seen: Polled,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Polled> =>
  firstTold(
    (tell) =>
      following.follow(seen, false, (change) => {
        if (change.kind !== 'preview') tell(change.now)
      }),
    seen,
    timeoutMs,
    signal,
  )

/** Resolves when the generation has ended, or to undefined at the time-out or when the signal aborts. */
export const waitForEnd = (
  { watch }: GenerationWatch,
  id: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<GenerationView | undefined> =>
  firstTold<GenerationView | undefined>(
    (tell) =>
      watch(id, undefined, (view) => {
        if (hasEnded(view)) tell(view)
      }),
    undefined,
    timeoutMs,
    signal,
  )

/** @param subscribe tells later, never while it is called; returns how to unsubscribe */
function firstTold<T>(
  subscribe: (tell: (value: T) => void) => () => void,
  otherwise: T,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<T> {
  return new Promise((resolve) => {
    const settle = (value: T) => {
      clearTimeout(timeout)
      signal.removeEventListener('abort', giveUp)
      unsubscribe()
      resolve(value)
    }
    const giveUp = () => settle(otherwise)
    const timeout = setTimeout(giveUp, timeoutMs)
    const unsubscribe = subscribe(settle)
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
  })
}
