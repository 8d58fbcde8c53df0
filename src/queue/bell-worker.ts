import { createPostgresBackend, Worker, withBackend } from 'bullmq'
import type { QueueConnection } from './bell-queue.js'

export interface BellWorkerOptions {
  /** With Redis, a patient connection of the worker's own. */
  readonly connection: QueueConnection
  /** How many deliveries are heard at once. */
  readonly concurrency: number
  /** Called for each delivery; the next one is taken when it resolves. */
  readonly onBell: () => Promise<void>
  readonly onError: (error: Error) => void
}

/** How soon a worker that has stopped by itself is replaced. */
const WATCH_MS = 1000

/** The consuming end: hears deliveries and passes them on. What is done about one is not its business. */
export function startBellWorker(
  queue: string,
  { connection, concurrency, onBell, onError }: BellWorkerOptions,
): { close(deadlineMs: number): Promise<void> } {
  const options = {
    concurrency,
    prefix: connection.prefix,
    lockDuration: 10_000,
    stalledInterval: 2000,
    // A delivery heard twice does no harm; Postgres counts the tries.
    maxStalledCount: 1000,
    // Another worker may have taken the wake-up and stopped; look again soon.
    drainDelay: 1,
  }
  const open = () => {
    const worker =
      connection.kind === 'redis'
        ? new Worker(queue, onBell, { ...options, connection: connection.redis })
        : new (withBackend(createPostgresBackend).Worker)(queue, onBell, {
            ...options,
            connection: { connectionString: connection.url, max: 2 },
          })
    const opened = { worker: worker as Pick<Worker, 'isRunning' | 'close'>, broken: false }
    // On Postgres BullMQ remembers a failed first look at the database for ever, and tries again without a pause: the
    // process would do nothing else any more. So the first error ends it, and the watch opens another.
    const failed = (error: Error) => {
      if (connection.kind === 'postgres') {
        opened.broken = true
        worker.close(true).catch(() => undefined)
      }
      onError(error)
    }
    worker.on('error', failed)
    worker.on('failed', (_job, error) => onError(error))
    worker.waitUntilReady().catch(() => {
      opened.broken = true
    })
    return opened
  }
  let current = open()
  const watch = setInterval(() => {
    if (!current.broken && current.worker.isRunning()) return
    current.worker.close(true).catch(() => undefined)
    current = open()
  }, WATCH_MS)

  return {
    /** Stops hearing; resolves when every delivery in hand has been dealt with, or at the deadline. */
    async close(deadlineMs: number): Promise<void> {
      clearInterval(watch)
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, deadlineMs)
      })
      // close() hangs while Redis is down.
      await Promise.race([current.worker.close().catch(onError), late])
      clearTimeout(timer)
    },
  }
}
