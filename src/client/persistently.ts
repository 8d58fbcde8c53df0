import { EaselError, type EaselErrorFacts, refusal } from './easel-error.js'

/** What openapi-fetch resolves to. */
export interface Answered<T> {
  readonly data?: T | undefined
  readonly error?: unknown
  readonly response: Response
}

export type Succeeded<T> = Answered<T> & { readonly data: T }

export interface Persistence {
  readonly signal: AbortSignal | undefined
  /** How long a try that is under way may still be answered after `signal` has aborted. Default: 0. */
  readonly graceMs?: number
  /** How long a server that can't be reached, or says it is unavailable, is asked again. */
  readonly outageMs: number
  /** Whether to wait where a limit is reached, for as long as it takes. */
  readonly waitForTurn: boolean
  /** How long one try may take; one that has not been answered by then counts as an outage. Default: 30 s. */
  readonly tryMs?: number
  readonly fate?: Fate
  /** Added to the errors. */
  readonly about?: EaselErrorFacts
}

/** Whether a request that was stopped between its tries may have reached the server and done its work. */
export type Fate = { unknown: boolean }

export const TRY_MS = 30_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8000
/** A timer longer than this fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Repeats a request that is safe to repeat until it is answered with success or with a refusal that would not change:
 * as soon as the server's Retry-After says, else with growing pauses and full jitter. Once the outcome of a try is
 * unknown, a refusal that came before the request was looked at does not end it. By hand, since the client is to need few packages.
 * @throws EaselError; the signal's reason once it has aborted
 */
export async function persistently<T>(
  request: (signal: AbortSignal) => Promise<Answered<T>>,
  options: Persistence,
): Promise<Succeeded<T>> {
  const { signal, outageMs, waitForTurn, fate = { unknown: false } } = options
  let outageSince: number | undefined
  for (let tries = 0; ; tries++) {
    signal?.throwIfAborted()
    const wasUnknown = fate.unknown
    fate.unknown = true
    const { succeeded, error } = await tryOnce(request, options)
    if (succeeded) {
      fate.unknown = false
      return succeeded
    }
    const isOutage = error.status === undefined || error.status === 408 || error.status >= 500
    const isLimit = error.status === 429
    const isUnseen = isLimit && error.code !== 'active_generation'
    fate.unknown = isOutage || error.code === 'idempotency_in_flight' || (isUnseen && wasUnknown)
    if (!fate.unknown && !(isLimit && waitForTurn)) throw error
    let waitMs = pauseMs(error, tries)
    if (isOutage) {
      outageSince ??= performance.now()
      const leftMs = outageSince + outageMs - performance.now()
      if (leftMs <= 0) throw error
      waitMs = Math.min(waitMs, leftMs)
    }
    // A rate limit does not show that an outage is over, and neither does a repeat that came too soon.
    if (!fate.unknown && !isUnseen) outageSince = undefined
    await pause(waitMs, signal)
  }
}

async function tryOnce<T>(
  request: (signal: AbortSignal) => Promise<Answered<T>>,
  { signal, graceMs, tryMs = TRY_MS, about }: Persistence,
) {
  const limit = timeLimit(signal, tryMs, graceMs)
  try {
    const answered = await request(limit.signal)
    if (answered.response.ok) return { succeeded: answered as Succeeded<T> }
    return { error: refusal(answered.response, answered.error, about) }
  } catch (cause) {
    signal?.throwIfAborted()
    const message = limit.signal.aborted
      ? `The server has not answered within ${Math.round(tryMs / 1000)} s: try again later.`
      : 'The server could not be reached: check its address and your connection.'
    return { error: new EaselError('unreachable', message, { ...about, cause }) }
  } finally {
    limit.clear()
  }
}

/** A little later than the server says, so that clients that it told the same do not all come at once. */
function pauseMs({ retryAfterSeconds = 0 }: EaselError, tries: number): number {
  if (retryAfterSeconds > 0) return retryAfterSeconds * 1000 + Math.random() * FIRST_PAUSE_MS
  return Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries)
}

/** @throws the signal's reason, at once when it aborts */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const limit = timeLimit(signal, Math.min(ms, LONGEST_TIMER_MS))
  if (!limit.signal.aborted)
    await new Promise((resolve) => limit.signal.addEventListener('abort', resolve, { once: true }))
  limit.clear()
  signal?.throwIfAborted()
}

interface TimeLimit {
  readonly signal: AbortSignal
  clear(): void
}

/**
 * Aborts with the other signal (`graceMs` later) or at its own time limit; `clear` it when the work has ended. Instead of
 * AbortSignal.any over AbortSignal.timeout: Node 20 keeps something of each such pair on the other signal for good, and
 * may collect the timer before it has fired.
 */
export function timeLimit(outer: AbortSignal | undefined, ms: number, graceMs = 0): TimeLimit {
  const limit = new AbortController()
  const timers = [setTimeout(() => limit.abort(new DOMException(`Not done within ${ms} ms`, 'TimeoutError')), ms)]
  const follow = () => {
    if (graceMs === 0) limit.abort(outer?.reason)
    else timers.push(setTimeout(() => limit.abort(outer?.reason), graceMs))
  }
  outer?.addEventListener('abort', follow, { once: true })
  if (outer?.aborted) follow()
  return {
    signal: limit.signal,
    clear: () => {
      for (const timer of timers) clearTimeout(timer)
      outer?.removeEventListener('abort', follow)
    },
  }
}
