import { createPostgresBackend, type Telemetry, Worker, withBackend } from 'bullmq'
import { resolvedWithin } from '../lib/abort-signals.js'
import { asOptions, openPool, type QueueConnection } from './job-queue.js'

export interface JobWorkerOptions {
  /** With Redis, a patient connection of the worker's own. */
  readonly connection: QueueConnection
  readonly concurrency: number
  /** Called for each job; the worker takes the next one when it resolves. */
  readonly onJob: () => Promise<void>
  readonly onError: (error: Error) => void
  readonly telemetry?: Telemetry | undefined
  /** Shorter ones are for tests. */
  readonly times?: Partial<typeof TIMES> | undefined
}

const TIMES = {
  /** A worker that has said nothing of its job for this long has lost it. */
  lockMs: 10_000,
  /** Lost jobs are looked for this often, and taken anew. What they were about, the polls of Postgres find sooner. */
  stalledMs: 10_000,
  /**
   * How long one read waits for a job. Another worker may have taken the wake-up and stopped: the polls are there for
   * that, too. Each read and each look is a dozen commands of an idle Redis.
   */
  readMs: 10_000,
  /** A BullMQ worker that has stopped by itself is replaced within this time. */
  watchMs: 1000,
}

/** Two for queries, one for LISTEN. */
const POOL = 3

/** The consumer of a queue: calls `onJob` for each job. */
export function startJobWorker(
  queue: string,
  { connection, concurrency, onJob, onError, telemetry, times }: JobWorkerOptions,
): { close(deadlineMs: number): Promise<void> } {
  const { lockMs, stalledMs, readMs, watchMs } = { ...TIMES, ...times }
  const options = {
    concurrency,
    prefix: connection.prefix,
    ...(telemetry && { telemetry }),
    lockDuration: lockMs,
    stalledInterval: stalledMs,
    // A job taken twice does no harm; Postgres counts the tries.
    maxStalledCount: 1000,
    // Seconds.
    drainDelay: readMs / 1000,
  }
  const open = () => {
    const pool = connection.kind === 'postgres' ? openPool(connection, POOL) : undefined
    const worker =
      connection.kind === 'redis'
        ? new Worker(queue, onJob, { ...options, connection: connection.redis })
        : new (withBackend(createPostgresBackend).Worker)(queue, onJob, { ...options, connection: asOptions(pool) })
    const opened = {
      broken: false,
      isRunning: () => worker.isRunning(),
      close: (force?: boolean) => worker.close(force).finally(() => pool?.ended || pool?.end()),
    }
    // On Postgres a BullMQ worker whose first query failed retries without a pause and uses a whole core. So the first
    // error closes it, and the watch opens another.
    worker.on('error', (error) => {
      if (connection.kind === 'postgres') {
        opened.broken = true
        opened.close(true).catch(() => undefined)
      }
      onError(error)
    })
    worker.on('failed', (_job, error) => onError(error))
    // On Redis it even keeps the event loop from turning, as where the user may not run INFO: nothing else would close it.
    worker.waitUntilReady().catch(() => {
      opened.broken = true
      opened.close(true).catch(() => undefined)
    })
    return opened
  }
  let current = open()
  const watch = setInterval(() => {
    if (!current.broken && current.isRunning()) return
    current.close(true).catch(() => undefined)
    current = open()
  }, watchMs)

  return {
    /** Takes no more jobs; resolves when `onJob` has ended for those taken, or at the deadline. */
    async close(deadlineMs: number): Promise<void> {
      clearInterval(watch)
      // close() hangs while Redis is down.
      await resolvedWithin(deadlineMs, current.close().catch(onError))
    },
  }
}
