import type { WebhookBells } from '../webhooks/ports.js'
import { bellQueue, type QueueConnection } from './bell-queue.js'
import { type BellWorkerOptions, startBellWorker } from './bell-worker.js'

const WEBHOOK_QUEUE = 'webhooks'

/** The producing end: one bell per try, heard when the try is due. */
export function webhookBells(
  connection: QueueConnection,
  onError: (error: Error) => void,
): WebhookBells & { close(): Promise<void> } {
  const bells = bellQueue(WEBHOOK_QUEUE, connection, onError)
  return {
    // Not the bare number: BullMQ takes integers for ids of its own.
    ring: ({ seq, attempts }, delayMs) => bells.ring([{ id: `delivery-${seq}-${attempts}`, delayMs }]),
    close: () => bells.close(),
  }
}

/** The consuming end: hears that a delivery may be due. */
export const startWebhookBellWorker = (options: Omit<BellWorkerOptions, 'concurrency'>) =>
  startBellWorker(WEBHOOK_QUEUE, { ...options, concurrency: 1 })
