import type { GenerationWatch } from './follow-ports.js'
import type { GenerationView } from './generation.js'

/** Resolves when the generation has ended, or to undefined at the time-out or when the signal aborts. */
export function waitForEnd(
  { watch }: GenerationWatch,
  id: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<GenerationView | undefined> {
  return new Promise((resolve) => {
    const settle = (ended?: GenerationView) => {
      clearTimeout(timeout)
      signal.removeEventListener('abort', giveUp)
      unwatch()
      resolve(ended)
    }
    const giveUp = () => settle()
    const timeout = setTimeout(giveUp, timeoutMs)
    const unwatch = watch(id, undefined, (view) => {
      if (view.status === 'succeeded' || view.status === 'failed') settle(view)
    })
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
  })
}
