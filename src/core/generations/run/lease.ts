import { retryFor } from '../../../lib/retry.js'
import { atSharedMoments } from '../../../lib/shared-moments.js'
import type { ClaimedGeneration, RunStore } from './ports.js'
import { LEASE_DOUBT_MS, RUN_TIMES, type RunTimes } from './times.js'

/** Notifies a worker immediately when another process ends a generation that it runs; a notice may be lost. */
export interface GenerationEnds {
  /** @returns stops watching */
  watch(id: string, onEnd: () => void): () => void
}

/** A grace after this process stood still: an answer may have arrived that was not read yet. */
const CATCH_UP_MS = 300
/** How long to wait for Postgres before an image is replaced. */
const VERIFY_FOR_MS = 30_000

/** Renews an attempt's lease until stopped, and immediately on the notice that another process ended the generation. */
export function keepLease(
  runs: RunStore,
  ends: GenerationEnds,
  { id, attempt }: ClaimedGeneration,
  { heartbeatMs }: Pick<RunTimes, 'heartbeatMs'> = RUN_TIMES,
) {
  const gone = new AbortController()
  let confirmedAt = performance.now()
  let doubtful = false
  const isLate = () => performance.now() - confirmedAt > LEASE_DOUBT_MS
  const doubt = () => {
    if (!isLate() || gone.signal.aborted) return
    doubtful = true
    gone.abort(new Error('the lease could not be renewed'))
  }
  const beat = async () => {
    const sentAt = performance.now()
    try {
      if (await runs.heartbeat(id, attempt)) confirmedAt = sentAt
      else gone.abort(new Error('the lease was lost'))
    } catch {
      doubt()
    }
  }
  let late: NodeJS.Timeout | undefined
  // With all other leases of this process: one statement renews them.
  const stopBeating = atSharedMoments(heartbeatMs, () => {
    void beat()
    // A hanging heartbeat would not fail before the lease ends.
    if (isLate()) late = setTimeout(doubt, CATCH_UP_MS)
  })
  const unwatch = ends.watch(id, () => void beat())
  return {
    /** Aborts when the attempt is no longer ours, or might not be. */
    signal: gone.signal,
    /** The lease could not be renewed: another worker may take over, but is not known to have done so. */
    isDoubtful: () => doubtful,
    /** Whether the attempt may still write outside Postgres. Asks Postgres: a suspended machine's clock stops. */
    stillOurs: () => retryFor(() => runs.heartbeat(id, attempt), VERIFY_FOR_MS),
    /** Goes on renewing, but no longer reacts to the notice of the generation's end. */
    ignoreEnds: unwatch,
    stop() {
      stopBeating()
      clearTimeout(late)
      unwatch()
    },
  }
}
