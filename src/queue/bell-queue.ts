import { createPostgresBackend, Queue, withBackend } from 'bullmq'
import type { Redis } from 'ioredis'

/** Where BullMQ lives: Redis, or in one-machine mode its own schema in Postgres. */
export type QueueConnection =
  | { readonly kind: 'redis'; readonly redis: Redis; readonly prefix: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly prefix: string }

/** A request does not wait longer for the queue; an add that comes through later only rings once more. */
const DEADLINE_MS = 300

/**
 * Added in one call, which so ends well within the deadline; and so many calls at once that Redis takes one in while the
 * next is made, but whoever else asks it does not wait long.
 */
const ADDED_TOGETHER = 100
const CALLS_AT_ONCE = 2

/** BullMQ keeps nothing of a delivery once it was heard, and never repeats one: Postgres decides what runs again. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const

/** After a call that came too late no other is tried for this long: one caller pays for a hanging Redis, not each. */
const REST_MS = 1000

/** One delivery; the same id again while the first waits is nothing. */
export interface Bell {
  readonly id: string
  /** Heard no sooner. */
  readonly delayMs?: number
}

export interface BellQueue {
  /** Resolves to whether the bells are known to be in the queue. */
  ring(bells: readonly Bell[]): Promise<boolean>
  unring(id: string): Promise<void>
  close(): Promise<void>
}

/** The producing end of a queue whose jobs carry nothing. A failure is never an error here: somebody rings anew. */
export function bellQueue(name: string, connection: QueueConnection, onError: (error: Error) => void): BellQueue {
  let queue = open()
  let restsUntil = 0

  function open(): Queue {
    const opened = openBellQueue(name, connection)
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
        // A queue whose first look at its backend failed fails for ever after; a new one looks again.
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
    async ring(bells) {
      const left = [...bells]
      let all = true
      const add = async () => {
        while (all && left.length > 0) {
          const jobs = left.splice(0, ADDED_TOGETHER).map(({ id, delayMs = 0 }) => ({
            name: 'bell',
            data: {},
            opts: { ...JOB_OPTIONS, jobId: id, ...(delayMs > 0 && { delay: delayMs }) },
          }))
          if (!(await inTime((to) => to.addBulk(jobs)))) all = false
        }
      }
      await Promise.all(Array.from({ length: CALLS_AT_ONCE }, add))
      return all
    },

    async unring(id) {
      await inTime((from) => from.remove(id))
    },

    async close() {
      await inTime((last) => last.close())
    },
  }
}

/** BullMQ's queue on whichever backend; also for looking into it. */
export function openBellQueue(name: string, connection: QueueConnection): Queue {
  if (connection.kind === 'redis') return new Queue(name, { connection: connection.redis, prefix: connection.prefix })
  const { Queue: PostgresQueue } = withBackend(createPostgresBackend)
  return new PostgresQueue(name, {
    connection: { connectionString: connection.url, max: 2 },
    prefix: connection.prefix,
  }) as unknown as Queue
}
