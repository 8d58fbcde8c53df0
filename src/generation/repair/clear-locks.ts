import type { ActiveGenerationLock } from '../active-lock.js'
import { found } from './rule.js'

export interface EndedGenerations {
  endedAmong(ids: readonly string[]): Promise<string[]>
}

/** Releases locks whose generation has ended. One whose generation is not known yet belongs to a submit, and expires. */
export async function clearLocks(rows: EndedGenerations, lock: ActiveGenerationLock): Promise<void> {
  for await (const locks of lock.all()) {
    const holders = locks.map(({ generationId }) => generationId)
    const ended = new Set(await found('reconcile.clear_locks', () => rows.endedAmong(holders)))
    for (const { accountId, generationId } of locks) {
      if (ended.has(generationId)) await lock.release(accountId, generationId)
    }
  }
}
