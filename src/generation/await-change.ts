import type { Following } from './follow.js'
import type { Polled } from './poll.js'

/** Resolves to the generation's state once its status or place is another one than seen, or to what was seen last. */
export function awaitChange(
  following: Following,
  seen: Polled,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Polled> {
  return new Promise((resolve) => {
    const settle = (now: Polled) => {
      clearTimeout(timeout)
      signal.removeEventListener('abort', giveUp)
      unfollow()
      resolve(now)
    }
    const giveUp = () => settle(seen)
    const timeout = setTimeout(giveUp, timeoutMs)
    const unfollow = following.follow(seen, false, (change) => {
      if (change.kind !== 'preview') settle(change.now)
    })
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
  })
}
