import { failpoint } from '../failpoint.js'
import type { ClaimedGeneration, RunStore } from './ports.js'

const HEARTBEAT_MS = 3000
/** Without a confirmed heartbeat for this long the lease may be gone: stop before somebody else starts. */
const LEASE_DOUBT_MS = 8000

/** Renews the lease; its signal aborts when the attempt is no longer ours, or might not be. */
export function keepLease(runs: RunStore, { id, attempt }: ClaimedGeneration) {
  const gone = new AbortController()
  let confirmedAt = performance.now()
  const timer = setInterval(async () => {
    const sentAt = performance.now()
    try {
      await failpoint('lease.before_heartbeat')
      if (await runs.heartbeat(id, attempt)) confirmedAt = sentAt
      else gone.abort(new Error('the lease was lost'))
    } catch {
      if (performance.now() - confirmedAt > LEASE_DOUBT_MS) gone.abort(new Error('the lease could not be renewed'))
    }
  }, HEARTBEAT_MS)
  return { signal: gone.signal, stop: () => clearInterval(timer) }
}
