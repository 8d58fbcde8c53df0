import { randomBytes } from 'node:crypto'
import { createPostgresBackend, type Job, type Queue, Worker, withBackend } from 'bullmq'
import { onTestFinished } from 'vitest'
import type { QueueConnection } from '../../src/queue/job-queue.js'
import type { JobWorkerOptions } from '../../src/queue/job-worker.js'
import {
  GENERATION_QUEUE,
  generationQueue,
  openGenerationQueue,
  startGenerationWorker,
} from '../../src/queue/queues.js'
import { createPatientRedis, createProducerRedis } from '../../src/redis/client.js'
import { until } from '../support/until.js'

const quiet = () => undefined

/** Instead of seconds. The lock of a listener that lives is kept as long as usual, because a busy machine may be slow. */
export const SHORT_TIMES: JobWorkerOptions['times'] = { stalledMs: 100, readMs: 100, watchMs: 50 }

/** Both ends of a queue on one of BullMQ's backends, closed when the test ends. */
export function givenQueue(kind: 'redis' | 'postgres', url: string) {
  // In braces, as foundation.ts has it.
  const prefix = `{t${randomBytes(5).toString('hex')}}`
  const connection = (patient: boolean): QueueConnection => {
    if (kind === 'postgres') return { kind, url, prefix }
    const redis = (patient ? createPatientRedis : createProducerRedis)(url, quiet)
    onTestFinished(() => redis.disconnect())
    return { kind, redis, prefix }
  }
  const queue = generationQueue(connection(false), quiet)
  onTestFinished(() => queue.close())
  const inspected: Queue = openGenerationQueue(connection(false))
  inspected.on('error', quiet)
  onTestFinished(() => inspected.close())

  return {
    queue,
    prefix,
    connection,
    /** BullMQ's own view of it. */
    inspected,
    ring: (...ids: string[]) => {
      const deliveries = ids.map((id) => ({ id, attempt: 1 }))
      return until(() => queue.enqueue(deliveries), 'the queue being reachable')
    },
    listen: (onJob: JobWorkerOptions['onJob'], concurrency = 1) => {
      const options = { connection: connection(true), concurrency, onJob, onError: quiet, times: SHORT_TIMES }
      const worker = startGenerationWorker(options)
      onTestFinished(() => worker.close(2000))
      return worker
    },
    heardOut: () =>
      until(async () => {
        const counts = await inspected.getJobCounts()
        return Object.values(counts).every((count) => count === 0)
      }, 'the queue being empty'),
    /** A listener that takes the next delivery and is never heard of again. */
    takeAndDie: async (): Promise<Job> => {
      const options = { prefix, lockDuration: 100, skipStalledCheck: true }
      const on = connection(true)
      const dying =
        on.kind === 'redis'
          ? new Worker(GENERATION_QUEUE, null, { ...options, connection: on.redis })
          : new (withBackend(createPostgresBackend).Worker)(GENERATION_QUEUE, null, {
              ...options,
              connection: { connectionString: on.url, max: 2 },
            })
      dying.on('error', quiet)
      const taken = await until(() => dying.getNextJob('its token'), 'a delivery to take')
      await dying.close(true)
      return taken as Job
    },
  }
}
