import pg from 'pg'
import type { Database } from './client.js'
import { statement } from './statement.js'

/** Claims and requeues notify here. */
export const MOVED = 'generation_moved'
/** Ends have a channel of their own, which the workers hear, too. */
export const FINISHED = 'generation_finished'
const WAITING = 'generation_waiting'

const RECONNECT_MS = 500

/**
 * Hears the notices of some channels over one connection of its own, opened anew whenever it breaks. Notices sent
 * meanwhile are lost, so they may only say "look now" to somebody who looks anyway.
 */
export function listenTo(
  databaseUrl: string,
  channels: string | readonly string[],
  onNotice: (payload: string) => void,
  /** Told once of each time when notices are lost. */
  onError: (error: Error) => void,
): { close(): Promise<void> } {
  let closed = false
  let told = false
  let current: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined

  const listen = async (): Promise<void> => {
    const client = new pg.Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: 2000,
      keepAlive: true,
      application_name: 'easel listen',
    })
    current = client
    let lost = false
    const reconnect = (error?: Error) => {
      if (lost) return
      lost = true
      client.end().catch(() => undefined)
      if (closed) return
      if (error && !told) onError(error)
      told ||= error !== undefined
      timer = setTimeout(() => void listen(), RECONNECT_MS)
    }
    client.on('error', reconnect)
    client.on('end', () => reconnect())
    client.on('notification', ({ payload }) => onNotice(payload ?? ''))
    try {
      await client.connect()
      for (const channel of [channels].flat()) await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
      told = false
    } catch (error) {
      reconnect(error as Error)
    }
  }
  void listen()

  return {
    async close() {
      closed = true
      clearTimeout(timer)
      await current?.end().catch(() => undefined)
    },
  }
}

const CALL = statement('call_workers')`SELECT pg_notify(${WAITING}, '')`

/**
 * How a worker that got a job which it can't do tells all the others: that job is used up, and whoever can serve the
 * generation must not wait until it looks by itself.
 */
export function workerCall(
  { pool }: Database,
  databaseUrl: string,
  onCall: () => void,
  onError: (error: Error) => void,
): { callOthers(): Promise<void>; close(): Promise<void> } {
  const listener = listenTo(databaseUrl, WAITING, onCall, onError)
  return {
    async callOthers() {
      await CALL.count(pool).catch(onError)
    },
    close: () => listener.close(),
  }
}
