/** Seconds after the 1st, 2nd, … try: over a day in all; then the delivery fails for good. */
const DELAYS = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 28_800] as const
/** A random delay of up to this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2
/** A receiver's Retry-After counts up to this. */
const MAX_RETRY_AFTER = 28_800

/** After this many failures in a row an endpoint gets one delivery at a time, and ever more rarely. */
export const FAILING = 5
const FIRST_PAUSE = 5
const MAX_PAUSE = 300

/** Seconds until the next try; undefined: no retry. @param attempts tries so far @param random 0 to 1 */
export function retryDelay(attempts: number, retryAfterSeconds = 0, random = Math.random()): number | undefined {
  const delay = DELAYS[attempts - 1]
  return delay && Math.max(delay * (1 + JITTER * random), Math.min(retryAfterSeconds, MAX_RETRY_AFTER))
}

/** For how many seconds an endpoint gets no delivery after a failed try. @param failures in a row, with this one */
export function endpointPause(failures: number, retryAfterSeconds = 0): number {
  const pause = failures < FAILING ? 0 : FIRST_PAUSE * 2 ** Math.min(failures - FAILING, 10)
  return Math.min(Math.max(pause, retryAfterSeconds), MAX_PAUSE)
}
