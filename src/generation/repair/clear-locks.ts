import type { ReconcilePorts } from './ports.js'

/** Releases locks whose generation has ended. A lock of an unstored generation belongs to a submit, and expires. */
export async function clearLocks({ rows, lock }: ReconcilePorts): Promise<void> {
  for await (const locks of lock.all()) {
    const ended = new Set(await rows.endedAmong(locks.map(({ generationId }) => generationId)))
    for (const { accountId, generationId } of locks) {
      if (ended.has(generationId)) await lock.release(accountId, generationId)
    }
  }
}
