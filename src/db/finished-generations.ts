import pg from 'pg'
import type { GenerationView } from '../generation/generation.js'
import type { FinishedGenerations } from '../generation/ports.js'
import type { Database } from './client.js'
import { findEnded } from './poll-store.js'

/** How often the rows of all waited-for generations are read again, in case a notice was lost. */
const RE_READ_MS = 1000
const RECONNECT_MS = 500

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
  const closing = new AbortController()
  let listener: pg.Client | undefined

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

  const listen = async (): Promise<void> => {
    if (closing.signal.aborted) return
    const client = new pg.Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: 2000,
      keepAlive: true,
      application_name: 'easel listen',
    })
    let lost = false
    const reconnect = (error?: Error) => {
      if (lost) return
      lost = true
      if (error && !closing.signal.aborted) onError(error)
      client.end().catch(() => undefined)
      if (!closing.signal.aborted) setTimeout(() => void listen(), RECONNECT_MS).unref()
    }
    client.on('error', reconnect)
    client.on('end', () => reconnect())
    client.on('notification', ({ payload }) => {
      if (payload && waiting.has(payload)) void settle([payload])
    })
    try {
      await client.connect()
      await client.query('LISTEN generation_finished')
      listener = client
    } catch (error) {
      reconnect(error as Error)
    }
  }
  void listen()

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
      closing.abort()
      clearInterval(timer)
      await listener?.end().catch(() => undefined)
    },
  }
}
