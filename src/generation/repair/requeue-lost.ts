import { failpoint } from '../../failpoint.js'
import type { Log } from '../../log.js'
import type { Delivery } from '../queue.js'
import { found } from './rule.js'

export interface LostAttempts {
  /** Puts attempts whose worker stopped renewing its lease back in their place. */
  requeueLost(): Promise<Delivery[]>
}

/** A worker that died or stood still loses its attempt; the generation keeps its place in the queue. */
export async function requeueLost(rows: LostAttempts, log: Log): Promise<void> {
  const requeued = await found('reconcile.requeue_lost', rows.requeueLost)
  if (requeued.length === 0) return
  log.warn({ generations: requeued.map(({ id }) => id) }, 'generations of lost workers put back in their place')
  await failpoint('reconcile.after_requeue_lost')
}
