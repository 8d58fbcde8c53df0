import { EaselError, refusal } from './easel-error.js'

/** What openapi-fetch resolves to. */
export interface Answered<T> {
  readonly data?: T | undefined
  readonly error?: unknown
  readonly response: Response
}

export interface Persistence {
  readonly signal: AbortSignal | undefined
  /** How long a server that can't be reached, or says it is unavailable, is asked again. */
  readonly outageMs: number
  /** Whether to wait where a limit is reached, for as long as it takes. */
  readonly waitForTurn: boolean
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8000
/** A limit of requests, the one active generation, a cap of streams, or the same key's first request in flight. */
const TURNS = [429, 409]
const OUTAGES = [500, 502, 503, 504]

/**
 * Repeats a request that is safe to repeat until it is answered with success or with a refusal that would not change:
 * as soon as the server's Retry-After says, else with growing pauses and full jitter.
 * @throws EaselError; the signal's reason once it has aborted
 */
export async function persistently<T>(request: () => Promise<Answered<T>>, options: Persistence): Promise<Answered<T>> {
  const { signal, outageMs, waitForTurn } = options
  let outageSince: number | undefined
  for (let tries = 0; ; tries++) {
    signal?.throwIfAborted()
    const answered = await request().catch((cause: unknown) => {
      signal?.throwIfAborted()
      return new EaselError('unreachable', 'The server could not be reached: check its address and your connection.', {
        cause,
      })
    })
    if (!(answered instanceof EaselError) && answered.response.ok) return answered
    const error = answered instanceof EaselError ? answered : refusal(answered.response, answered.error)
    const isTurn = TURNS.includes(error.status ?? 0)
    const isOutage = error.status === undefined || OUTAGES.includes(error.status)
    if (isTurn ? !waitForTurn : !isOutage) throw error
    outageSince = isOutage ? (outageSince ?? Date.now()) : undefined
    if (outageSince !== undefined && Date.now() - outageSince > outageMs) throw error
    const growing = Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries)
    await pause(error.retryAfterSeconds === undefined ? growing : error.retryAfterSeconds * 1000, signal)
  }
}

/** @throws the signal's reason, at once when it aborts */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', giveUp)
      resolve()
    }, ms)
    if (signal?.aborted) giveUp()
    else signal?.addEventListener('abort', giveUp, { once: true })
  })
}
