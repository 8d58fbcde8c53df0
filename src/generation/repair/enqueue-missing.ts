import { failpoint } from '../../failpoint.js'
import type { Delivery, GenerationQueue } from '../queue.js'
import { found } from './rule.js'

export interface MissingJobs {
  /** Queued generations whose job is not known to have reached the queue, one page. */
  notEnqueued(): Promise<Delivery[]>
  markEnqueued(deliveries: readonly Delivery[]): Promise<void>
}

/** Enqueues what Redis did not take when it was submitted or put back; stops at the first page that Redis refuses. */
export async function enqueueMissing(rows: MissingJobs, queue: GenerationQueue): Promise<void> {
  for (;;) {
    const missing = await found('reconcile.enqueue', rows.notEnqueued)
    if (missing.length === 0 || !(await queue.enqueue(missing))) return
    await failpoint('reconcile.after_enqueue')
    await rows.markEnqueued(missing)
    await failpoint('reconcile.after_mark')
  }
}
