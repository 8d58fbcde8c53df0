import type { ReconcilePorts } from './ports.js'

/** Releases locks whose generation has ended. A lock of an unstored generation belongs to a submit, and expires. */
export async function clearLocks({ rows, lock }: ReconcilePorts): Promise<void> {
  for await (const locks of lock.all()) {
    const ended = new Set(await rows.endedAmong(locks.map(({ generationId }) => generationId)))
    const stale = locks.filter(({ generationId }) => ended.has(generationId))
    await Promise.all(stale.map(({ accountId, generationId }) => lock.release(accountId, generationId)))
  }
}
