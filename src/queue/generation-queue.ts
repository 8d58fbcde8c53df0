import type { Queue } from 'bullmq'
import type { GenerationQueue } from '../generation/ports.js'
import { bellQueue, openBellQueue, type QueueConnection } from './bell-queue.js'
import { bellId, GENERATION_QUEUE } from './generation-job.js'

export type { QueueConnection } from './bell-queue.js'

/** The producing end. A failure is never an error here: the reconciler rings for whatever is missing. */
export function generationQueue(
  connection: QueueConnection,
  onError: (error: Error) => void,
): GenerationQueue & { close(): Promise<void> } {
  const bells = bellQueue(GENERATION_QUEUE, connection, onError)
  return {
    ring: (deliveries) => bells.ring(deliveries.map(({ id, attempt }) => ({ id: bellId(id, attempt) }))),
    unring: ({ id, attempt }) => bells.unring(bellId(id, attempt)),
    close: () => bells.close(),
  }
}

/** For looking into it. */
export const openQueue = (connection: QueueConnection): Queue => openBellQueue(GENERATION_QUEUE, connection)
