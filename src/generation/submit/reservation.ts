import { idempotencyInFlight, idempotencyMismatch } from '../../errors.js'
import { failpoint } from '../../failpoint.js'
import type { SubmittedGeneration } from '../generation.js'

export interface IdempotencyRequest {
  readonly key: string
  /** SHA-256 over the interface and the body. */
  readonly bodyHash: Buffer
}

type Reservation =
  | { readonly outcome: 'reserved' | 'mismatch' | 'in_flight' }
  | { readonly outcome: 'replay'; readonly generation: SubmittedGeneration }

export interface IdempotencyStore {
  /** Reserves the key for a generation that is about to be submitted, or tells what became of its first request. */
  reserve(accountId: string, key: string, bodyHash: Buffer, generationId: string): Promise<Reservation>
  /** Frees the key unless its generation was stored; once freed, that generation can no longer be stored. */
  release(accountId: string, key: string, generationId: string): Promise<void>
}

/**
 * Submits under an Idempotency-Key, or resolves to the generation that was submitted under it before.
 * @throws idempotency_mismatch for another body; idempotency_in_flight while the first request goes on
 */
export async function underReservation<T>(
  keys: IdempotencyStore,
  accountId: string,
  { key, bodyHash }: IdempotencyRequest,
  generationId: string,
  submit: () => Promise<T>,
): Promise<T | { readonly replayOf: SubmittedGeneration }> {
  const first = await keys.reserve(accountId, key, bodyHash, generationId)
  if (first.outcome === 'mismatch') throw idempotencyMismatch()
  if (first.outcome === 'in_flight') throw idempotencyInFlight()
  if (first.outcome === 'replay') return { replayOf: first.generation }
  await failpoint('idempotency.after_reserve')
  try {
    return await submit()
  } catch (error) {
    await failpoint('idempotency.before_release')
    await releaseKey(() => keys.release(accountId, key, generationId))
    throw error
  }
}

/** The pauses between tries to release a key while Postgres is down; after them its reservation has expired. */
const RETRY_PAUSES_MS = [500, 1000, 2000, 4000, 8000]

/** Releases the key of a submit that failed. Waits for the first try only. */
async function releaseKey(release: () => Promise<void>, pauses = RETRY_PAUSES_MS): Promise<void> {
  const [pauseMs, ...later] = pauses
  await release().catch(() => {
    if (pauseMs !== undefined) setTimeout(() => void releaseKey(release, later), pauseMs).unref()
  })
}
