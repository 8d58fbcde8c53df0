import { createPostgresBackend, Queue, withBackend } from 'bullmq'
import type { Redis } from 'ioredis'

/** Where BullMQ lives: Redis, or in one-machine mode its own schema in Postgres. */
export type QueueConnection =
  | { readonly kind: 'redis'; readonly redis: Redis; readonly prefix: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly prefix: string }

/** A request does not wait longer for the queue. An add that comes through later only wakes a worker once more. */
const DEADLINE_MS = 300

/**
 * Jobs added by one call, so that it ends well within the deadline, and calls at once: Redis takes one in while the next is
 * made, and its other clients do not wait long.
 */
const ADDED_TOGETHER = 100
const CALLS_AT_ONCE = 2

/** BullMQ keeps nothing of a job that was taken, and never repeats one: Postgres decides what runs again. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const

/** After a call that came too late no other is tried for this long: one caller waits for a hanging Redis, not each. */
const REST_MS = 1000

/** Carries an id only. The same id again while the first waits adds nothing. */
interface Job {
  readonly id: string
  /** Before this a worker does not get it. */
  readonly delayMs?: number
}

interface JobQueue {
  /** Resolves to whether the jobs are known to be in the queue. */
  enqueue(jobs: readonly Job[]): Promise<boolean>
  /** Removes a job that no worker has taken. */
  withdraw(id: string): Promise<void>
  close(): Promise<void>
}

/** The producing end of a queue. A failure is never an error here: the reconciler repeats what was lost. */
export function jobQueue(name: string, connection: QueueConnection, onError: (error: Error) => void): JobQueue {
  let queue = open()
  let restsUntil = 0

  function open(): Queue {
    const opened = openQueue(name, connection)
    opened.on('error', onError)
    return opened
  }

  /** BullMQ's calls never settle while Redis can't be reached, so the deadline is ours. */
  async function inTime(work: (queue: Queue) => Promise<unknown>): Promise<boolean> {
    if (performance.now() < restsUntil || (connection.kind === 'redis' && connection.redis.status !== 'ready'))
      return false
    const used = queue
    const done = work(used).then(
      () => true,
      (error) => {
        onError(error)
        // A queue whose first look at its backend failed never recovers; a new one looks again.
        if (queue === used) {
          queue = open()
          used.close().catch(() => undefined)
        }
        return false
      },
    )
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => {
        restsUntil = performance.now() + REST_MS
        resolve(false)
      }, DEADLINE_MS)
    })
    return Promise.race([done, late]).finally(() => clearTimeout(timer))
  }

  return {
    async enqueue(jobs) {
      const left = [...jobs]
      let all = true
      const add = async () => {
        while (all && left.length > 0) {
          const page = left.splice(0, ADDED_TOGETHER).map(({ id, delayMs = 0 }) => ({
            name: 'job',
            data: {},
            opts: { ...JOB_OPTIONS, jobId: id, ...(delayMs > 0 && { delay: delayMs }) },
          }))
          if (!(await inTime((to) => to.addBulk(page)))) all = false
        }
      }
      await Promise.all(Array.from({ length: CALLS_AT_ONCE }, add))
      return all
    },

    async withdraw(id) {
      await inTime((from) => from.remove(id))
    },

    async close() {
      await inTime((last) => last.close())
    },
  }
}

/** BullMQ's own queue, for looking into it. */
export function openQueue(name: string, connection: QueueConnection): Queue {
  if (connection.kind === 'redis') return new Queue(name, { connection: connection.redis, prefix: connection.prefix })
  const { Queue: PostgresQueue } = withBackend(createPostgresBackend)
  return new PostgresQueue(name, {
    connection: { connectionString: connection.url, max: 2 },
    prefix: connection.prefix,
  }) as unknown as Queue
}
