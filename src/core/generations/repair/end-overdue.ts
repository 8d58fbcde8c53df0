import { clearLeftovers, type EndedGeneration } from '../cancel.js'
import type { Lacking } from '../failure-reason.js'
import type { ReconcilePorts, ReconcileStore } from './ports.js'

/** Fails generations that can no longer succeed, and releases what they hold outside Postgres. */
export async function endOverdue(ports: ReconcilePorts, end: () => Promise<EndedGeneration[]>): Promise<void> {
  for (const generation of await end()) {
    const { id: generationId, requestId, reason } = generation
    ports.log.warn({ generationId, requestId, reason }, 'generation ended by the reconciler')
    await clearLeftovers(ports, generation)
  }
}

/** The pause after a search that found nothing, as a multiple of the time that it took. */
const PAUSE_FACTOR = 20
const MAX_PAUSE_MS = 30_000

/** `failUnservable` reads the whole queue; these pauses keep that a small part of the time, however long it is. */
export function withPauses(failUnservable: ReconcileStore['failUnservable']): ReconcileStore['failUnservable'] {
  const nextAt = new Map<Lacking, number>()
  return async (lacking) => {
    const startedAt = performance.now()
    if (startedAt < (nextAt.get(lacking) ?? 0)) return []
    let ended: EndedGeneration[] = []
    try {
      ended = await failUnservable(lacking)
      return ended
    } finally {
      const now = performance.now()
      nextAt.set(lacking, ended.length > 0 ? 0 : now + Math.min((now - startedAt) * PAUSE_FACTOR, MAX_PAUSE_MS))
    }
  }
}
