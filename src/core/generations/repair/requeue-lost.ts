import type { ReconcilePorts } from './ports.js'

/** A worker that died or stood still loses its attempt; the generation keeps its place in the queue. */
export async function requeueLost({ rows, log }: ReconcilePorts): Promise<void> {
  const requeued = await rows.requeueLost()
  if (requeued.length === 0) return
  log.warn({ generations: requeued.map(({ id }) => id) }, 'generations of lost workers requeued')
}
