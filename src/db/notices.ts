import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Database } from './client.js'

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

/** Within the time that a busy Postgres takes. */
const NOTICE_WITHIN_MS = 3000

/**
 * Sends a notice and waits for it. A Postgres that is away may come later.
 * @throws Error with one sentence when it does not arrive, as through a pooler that shares connections
 */
export async function requireNotices({ pool }: Database, listenUrl: string): Promise<void> {
  const channel = `easel_${randomUUID()}`
  const client = new pg.Client({ connectionString: listenUrl, connectionTimeoutMillis: 2000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const heard = once(client, 'notification').then(
      () => true,
      () => true, // the connection broke: that says nothing of a pooler
    )
    await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    await pool.query('SELECT pg_notify($1, $2)', [channel, ''])
    if (!(await Promise.race([heard, delay(NOTICE_WITHIN_MS, false, { ref: false })]))) throw new NoNotices()
  } catch (error) {
    if (error instanceof NoNotices) throw error
  } finally {
    client.end().catch(() => undefined)
  }
}

class NoNotices extends Error {
  constructor() {
    super(
      'Postgres notices do not arrive: a pooler shares connections per transaction. ' +
        'Set DATABASE_LISTEN_URL to Postgres itself, or let the pooler share per session.',
    )
  }
}
