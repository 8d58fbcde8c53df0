import type { ReconcilePorts } from './ports.js'

/** Enqueues attempts whose job did not reach Redis; stops at the first page that Redis refuses. */
export async function enqueueMissing({ rows, queue }: ReconcilePorts): Promise<void> {
  for (;;) {
    const missing = await rows.notEnqueued()
    if (missing.length === 0 || !(await queue.enqueue(missing))) return
    await rows.markEnqueued(missing)
  }
}
