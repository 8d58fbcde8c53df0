import { createPostgresBackend, Queue, withBackend } from 'bullmq'
import type { Redis } from 'ioredis'
import type { GenerationQueue } from '../generation/ports.js'
import { bellId, GENERATION_QUEUE } from './generation-job.js'

/** Where BullMQ lives: Redis, or in one-machine mode its own schema in Postgres. */
export type QueueConnection =
  | { readonly kind: 'redis'; readonly redis: Redis; readonly prefix: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly prefix: string }

/** A request does not wait longer for the queue; an add that comes through later only rings once more. */
const DEADLINE_MS = 300

/** BullMQ keeps nothing of a delivery once it was heard, and never repeats one: Postgres decides what runs again. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const

/** The producing end. A failure is never an error here: the reconciler rings for whatever is missing. */
export function generationQueue(
  connection: QueueConnection,
  onError: (error: Error) => void,
): GenerationQueue & { close(): Promise<void> } {
  const queue = openQueue(connection)
  queue.on('error', onError)

  const inTime = async (work: Promise<unknown>): Promise<boolean> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), DEADLINE_MS)
    })
    // BullMQ's add never settles while Redis has never been reached, hence the race.
    const done = work.then(
      () => true,
      (error) => {
        onError(error)
        return false
      },
    )
    try {
      return await Promise.race([done, late])
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    ring: (deliveries) =>
      inTime(
        queue.addBulk(
          deliveries.map(({ id, attempt }) => ({
            name: 'generation',
            data: {},
            opts: { ...JOB_OPTIONS, jobId: bellId(id, attempt) },
          })),
        ),
      ),

    async unring({ id, attempt }) {
      await inTime(queue.remove(bellId(id, attempt)))
    },

    async close() {
      await inTime(queue.close())
    },
  }
}

/** BullMQ's queue on whichever backend; also for looking into it. */
export function openQueue(connection: QueueConnection): Queue {
  if (connection.kind === 'redis') {
    return new Queue(GENERATION_QUEUE, { connection: connection.redis, prefix: connection.prefix })
  }
  const { Queue: PostgresQueue } = withBackend(createPostgresBackend)
  return new PostgresQueue(GENERATION_QUEUE, {
    connection: { connectionString: connection.url, max: 2 },
    prefix: connection.prefix,
  }) as unknown as Queue
}
