import { failpoint, type SwitchableGuard } from '../../failpoint.js'
import type { Log } from '../../log.js'
import { clearLeftovers, type EndedGeneration, type LeftoverPorts } from '../cancel.js'
import type { Lacking } from '../failure-reason.js'
import { found } from './rule.js'

/** Each ends what it finds as failed, with a refund, and resolves to it. */
export interface OverdueGenerations {
  /** Attempts under which one worker too many has died. */
  failLost(): Promise<EndedGeneration[]>
  /** Generations past their deadline. */
  failExpired(): Promise<EndedGeneration[]>
  /** Queued generations that no live backend can serve, for lack of this. */
  failUnservable(lacking: Lacking): Promise<EndedGeneration[]>
}

/** Ends generations that have no hope of success, and frees what they held outside Postgres. */
export async function endOverdue(
  ports: LeftoverPorts & { readonly log: Log },
  guard: SwitchableGuard,
  end: () => Promise<EndedGeneration[]>,
): Promise<void> {
  for (const generation of await found(guard, end)) {
    ports.log.warn({ generationId: generation.id, reason: generation.reason }, 'generation ended by the reconciler')
    await failpoint('reconcile.after_fail')
    await clearLeftovers(ports, generation)
  }
}

/** A look rests for so many times as long as it took. */
const RESTS = 20
const RESTS_AT_MOST_MS = 30_000

/**
 * `failUnservable` looks at the whole queue: with these rests, looks that find nothing take a small part of the time, however
 * long the queue.
 */
export function restingLooks(look: OverdueGenerations['failUnservable']): OverdueGenerations['failUnservable'] {
  const nextAt = new Map<Lacking, number>()
  return async (lacking) => {
    const startedAt = performance.now()
    if (startedAt < (nextAt.get(lacking) ?? 0)) return []
    let ended: EndedGeneration[] = []
    try {
      ended = await look(lacking)
      return ended
    } finally {
      const now = performance.now()
      nextAt.set(lacking, ended.length > 0 ? 0 : now + Math.min((now - startedAt) * RESTS, RESTS_AT_MOST_MS))
    }
  }
}
