import { createPostgresBackend, Queue, type Telemetry, withBackend } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import pg from 'pg'
import { resolvedWithin } from '../lib/abort-signals.js'

/** Where BullMQ keeps its data: in Redis, or in one-machine mode in its own schema in Postgres. */
export type QueueConnection =
  | { readonly kind: 'redis'; readonly redis: Redis | Cluster; readonly prefix: string }
  | ({ readonly kind: 'postgres'; readonly prefix: string } & PostgresServer)

/** `Client`: one that finds its own way to the server; otherwise pg's. */
export interface PostgresServer {
  readonly url: string
  readonly Client?: new (options?: pg.ClientConfig) => pg.Client
}

/** How long a request waits for the queue. A job added later only wakes a worker once more. */
const DEADLINE_MS = 300

/** Few per call, so that each meets the deadline and other clients of Redis do not wait long; two overlap. */
const JOBS_PER_CALL = 100
const CONCURRENT_CALLS = 2

/** BullMQ keeps no ended job and never retries one: Postgres decides what runs again. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const

/** After a missed deadline there is no call for this long, so that only one caller waits for a Redis that hangs. */
const PAUSE_MS = 1000

interface Job {
  readonly id: string
  readonly delayMs?: number
  /** Where it belongs, in the telemetry's own form. */
  readonly trace?: string | undefined
}

/** The producer of a queue. A failure is never an error: the reconciler repeats what was lost. */
export function jobQueue(
  name: string,
  connection: QueueConnection,
  onError: (error: Error) => void,
  telemetry?: Telemetry,
) {
  const open = () => openQueue(name, connection, telemetry).on('error', onError)
  let queue = open()
  let pausedUntil = 0
  const pending = new Set<Promise<unknown>>()

  /** BullMQ's calls never settle while Redis can't be reached, so this sets a deadline. */
  async function inTime(work: (queue: Queue) => Promise<unknown>): Promise<boolean> {
    if (performance.now() < pausedUntil || (connection.kind === 'redis' && connection.redis.status !== 'ready'))
      return false
    const used = queue
    const done = work(used).then(
      () => true,
      (error) => {
        onError(error)
        // A queue whose first query of its backend failed never recovers, so it is replaced.
        if (queue === used) {
          queue = open()
          used.close().catch(() => undefined)
        }
        return false
      },
    )
    const ended = await resolvedWithin(DEADLINE_MS, done)
    if (ended === undefined) pausedUntil = performance.now() + PAUSE_MS
    return ended ?? false
  }

  return {
    /** Ignores ids that are in the queue already. Resolves to whether all are known to be there. */
    async enqueue(jobs: readonly Job[]): Promise<boolean> {
      const left = [...jobs]
      let all = true
      const addPages = async () => {
        while (all && left.length > 0) {
          const page = left.splice(0, JOBS_PER_CALL).map(({ id, delayMs = 0, trace }) => ({
            name: 'job',
            data: {},
            opts: {
              ...{ ...JOB_OPTIONS, jobId: id },
              // Postgres refuses a part of a millisecond.
              ...(delayMs > 0 && { delay: Math.ceil(delayMs) }),
              ...(trace !== undefined && { telemetry: { metadata: trace } }),
            },
          }))
          const [first] = page
          // One alone needs no transaction.
          const add = (to: Queue) =>
            first && page.length === 1 ? to.add(first.name, first.data, first.opts) : to.addBulk(page)
          if (!(await inTime(add))) all = false
        }
      }
      const adding = Promise.all(Array.from({ length: CONCURRENT_CALLS }, addPages))
      pending.add(adding)
      await adding.finally(() => pending.delete(adding))
      return all
    },

    /** Removes a job that no worker has taken. */
    async withdraw(id: string): Promise<void> {
      await inTime((from) => from.remove(id))
    },

    /** What is being added may still take its deadline. */
    async close(): Promise<void> {
      await Promise.all(pending)
      await inTime((last) => last.close())
    },
  }
}

/** BullMQ's own queue, for inspection. */
export function openQueue(name: string, connection: QueueConnection, telemetry?: Telemetry): Queue {
  const options = { prefix: connection.prefix, ...(telemetry && { telemetry }) }
  if (connection.kind === 'redis') return new Queue(name, { ...options, connection: connection.redis })
  const pool = openPool(connection, 2)
  const { Queue: PostgresQueue } = withBackend(createPostgresBackend)
  const queue = new PostgresQueue(name, { ...options, connection: asOptions(pool) }) as unknown as Queue
  const close = queue.close.bind(queue)
  queue.close = () => close().finally(() => pool.ended || pool.end())
  return queue
}

/** BullMQ takes a pool, though its types ask for a pool's options. */
export const asOptions = (pool: pg.Pool | undefined) => pool as never

/** BullMQ removes all listeners when it closes its LISTEN client; an error without a listener would end the process. */
const withErrorListener = (Client: NonNullable<PostgresServer['Client']>) =>
  class extends Client {
    override removeAllListeners(event?: string | symbol): this {
      super.removeAllListeners(event)
      return this.on('error', () => undefined)
    }
  }

/** A pool for BullMQ, which does not close it. BullMQ itself would name its schema at the login, which PgBouncer refuses. */
export function openPool({ url, Client = pg.Client }: PostgresServer, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    keepAlive: true,
    Client: withErrorListener(Client),
    onConnect: (client) => client.query('SET search_path TO bullmq'),
  })
  // BullMQ holds connections without a listener for moments: one that ends then would end the process.
  const ignored = () => undefined
  return pool.on('error', ignored).on('connect', (client) => client.on('error', ignored))
}
