import type { Logger } from 'pino'

const LOOK_EVERY_MS = 500
/** Leases are renewed every 2 s and end after 7: a loop that stands still for longer than this endangers them. */
const ALARM_MS = 1000

/**
 * Warns when this process could not do anything for a second or more (its own work, a starved or paused machine): then
 * leases may have run out and timers have been late. A timer of our own, since perf_hooks' histogram forgets a delay
 * when it is read right after it.
 * @returns ends the watch
 */
export function watchEventLoop(log: Logger): () => void {
  let due = performance.now() + LOOK_EVERY_MS
  const timer = setInterval(() => {
    const now = performance.now()
    const stoodStillMs = Math.round(now - due)
    due = now + LOOK_EVERY_MS
    if (stoodStillMs >= ALARM_MS) log.warn({ stoodStillMs }, 'the event loop stood still')
  }, LOOK_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}
