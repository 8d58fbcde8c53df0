import type { WebhookJobs } from '../core/webhooks/ports.js'
import { jobQueue, type QueueConnection } from './job-queue.js'
import { type JobWorkerOptions, startJobWorker } from './job-worker.js'

const WEBHOOK_QUEUE = 'webhooks'

/** The producer: one job per try, delivered when the try is due. */
export function webhookJobs(
  connection: QueueConnection,
  onError: (error: Error) => void,
): WebhookJobs & { close(): Promise<void> } {
  const jobs = jobQueue(WEBHOOK_QUEUE, connection, onError)
  return {
    // With a prefix, because BullMQ takes integers for ids of its own.
    enqueue: ({ seq, attempts }, delayMs) => jobs.enqueue([{ id: `delivery-${seq}-${attempts}`, delayMs }]),
    close: () => jobs.close(),
  }
}

/** The consumer: a job says that a delivery may be due. */
export const startWebhookWorker = (options: Omit<JobWorkerOptions, 'concurrency'>) =>
  startJobWorker(WEBHOOK_QUEUE, { ...options, concurrency: 1 })
