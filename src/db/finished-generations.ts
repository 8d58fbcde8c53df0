import type { GenerationView } from '../generation/generation.js'
import type { FinishedGenerations } from '../generation/ports.js'
import type { Database } from './client.js'
import { listenTo } from './notices.js'
import { findEnded } from './poll-store.js'

/** How often the rows of all waited-for generations are read again, in case a notice was lost. */
const RE_READ_MS = 1000

type Waiter = (ended: GenerationView) => void

/**
 * Waits for generations to end, in any number, over one LISTEN connection. The finishing transaction notifies; a
 * shared re-read, one query a second for all waiters together, is the net beneath.
 */
export function finishedGenerations(
  db: Database,
  databaseUrl: string,
  onError: (error: Error) => void,
): FinishedGenerations & { close(): Promise<void> } {
  const waiting = new Map<string, Set<Waiter>>()

  const settle = async (ids: readonly string[]) => {
    try {
      for (const ended of await findEnded(db, ids)) for (const tell of waiting.get(ended.id) ?? []) tell(ended)
    } catch (error) {
      onError(error as Error)
    }
  }
  const timer = setInterval(() => {
    if (waiting.size > 0) void settle([...waiting.keys()])
  }, RE_READ_MS)
  timer.unref()

  const listener = listenTo(
    databaseUrl,
    'generation_finished',
    (id) => {
      if (waiting.has(id)) void settle([id])
    },
    onError,
  )

  return {
    wait(id, timeoutMs, signal) {
      return new Promise((resolve) => {
        const end = (ended?: GenerationView) => {
          clearTimeout(timeout)
          signal.removeEventListener('abort', giveUp)
          const waiters = waiting.get(id)
          waiters?.delete(end)
          if (waiters?.size === 0) waiting.delete(id)
          resolve(ended)
        }
        const giveUp = () => end()
        const timeout = setTimeout(giveUp, timeoutMs)
        signal.addEventListener('abort', giveUp, { once: true })
        waiting.set(id, (waiting.get(id) ?? new Set()).add(end))
        if (signal.aborted) end()
        // It may have ended before we began to wait.
        else void settle([id])
      })
    },

    async close() {
      clearInterval(timer)
      await listener.close()
    },
  }
}
