import { failpoint } from '../failpoint.js'
import type { ClaimedGeneration, GenerationEnds, RunStore } from './ports.js'

const HEARTBEAT_MS = 2000
/** Without a confirmed heartbeat for this long the lease may be gone: stop before somebody else starts. */
const LEASE_DOUBT_MS = 5500

export interface Lease {
  /** Aborts when the attempt is no longer ours, or might not be. */
  readonly signal: AbortSignal
  /** The lease could not be renewed, so somebody may take over any moment; nobody is known to have done so. */
  readonly doubtful: boolean
  /** Goes on renewing, but hears no more of the generation's end. */
  ignoreEnds(): void
  stop(): void
}

/** Renews an attempt's lease until stopped; looks at once when the generation is said to have ended elsewhere. */
export function keepLease(runs: RunStore, ends: GenerationEnds, { id, attempt }: ClaimedGeneration): Lease {
  const gone = new AbortController()
  let confirmedAt = performance.now()
  let doubtful = false
  const beat = async () => {
    const sentAt = performance.now()
    try {
      await failpoint('lease.before_heartbeat')
      if (await runs.heartbeat(id, attempt)) {
        confirmedAt = sentAt
        return
      }
      gone.abort(new Error('the lease was lost'))
    } catch {
      if (performance.now() - confirmedAt <= LEASE_DOUBT_MS || gone.signal.aborted) return
      doubtful = true
      gone.abort(new Error('the lease could not be renewed'))
    }
  }
  const timer = setInterval(() => void beat(), HEARTBEAT_MS)
  const unwatch = ends.watch(id, () => void beat())
  return {
    signal: gone.signal,
    get doubtful() {
      return doubtful
    },
    ignoreEnds: unwatch,
    stop() {
      clearInterval(timer)
      unwatch()
    },
  }
}
