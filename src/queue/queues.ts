import type { Queue, Telemetry } from 'bullmq'
import type { Delivery, GenerationQueue } from '../core/generations/ports.js'
import type { WebhookJobs } from '../core/webhooks/ports.js'
import { joined } from '../lib/batch.js'
import { jobQueue, openQueue, type QueueConnection } from './job-queue.js'
import { type JobWorkerOptions, startJobWorker } from './job-worker.js'

export const GENERATION_QUEUE = 'generations'

/** One job per attempt, so that a new attempt's job never collides with an older one's. */
export const generationJobId = (generationId: string, attempt: number): string => `${generationId}-${attempt}`

/** The producer. A failure is never an error: the reconciler enqueues what is missing. */
export function generationQueue(
  connection: QueueConnection,
  onError: (error: Error) => void,
  telemetry?: Telemetry,
): GenerationQueue & { close(): Promise<void> } {
  const jobs = jobQueue(GENERATION_QUEUE, connection, onError, telemetry)
  const enqueue = (deliveries: readonly (Delivery & { readonly trace?: string | undefined })[]) =>
    jobs.enqueue(deliveries.map(({ id, attempt, trace }) => ({ id: generationJobId(id, attempt), trace })))
  const joinedEnqueue = joined(enqueue)
  const manager = telemetry?.contextManager
  // Noted before it is joined with those of other requests.
  const enqueueOne = (delivery: Delivery) =>
    joinedEnqueue(manager ? { ...delivery, trace: manager.getMetadata(manager.active()) } : delivery)
  return {
    enqueue: (deliveries) => (deliveries.length === 1 ? enqueueOne(deliveries[0] as Delivery) : enqueue(deliveries)),
    withdraw: ({ id, attempt }) => jobs.withdraw(generationJobId(id, attempt)),
    close: () => jobs.close(),
  }
}

/** The consumer; one job at a time per backend. */
export const startGenerationWorker = (options: JobWorkerOptions) => startJobWorker(GENERATION_QUEUE, options)

/** BullMQ's own queue, for inspection. */
export const openGenerationQueue = (connection: QueueConnection): Queue => openQueue(GENERATION_QUEUE, connection)

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
