import pg from 'pg'
import { batchedInTurn } from '../lib/batch.js'
import type { Database } from './client.js'
import { postgresClient } from './hosts.js'
import { param, statement } from './statement.js'

/** Sent by claims and requeues, with the ID. */
export const MOVED = 'generation_moved'
/** Sent by what ends a generation, with the ID; workers listen to it, too. */
export const FINISHED = 'generation_finished'
/** Sent by a worker that got a job which it cannot do. */
export const WAITING = 'generation_waiting'
/** Sent by an import, which asks whether backends can draw with a definition. */
export const DEFINITION_ASKED = 'definition_asked'
/** Sent with what the payment provider is to be asked. */
export const PAYMENT_DUE = 'payment_due'
/** Sent when an idea of somebody's Up next may be submitted. */
export const UP_NEXT_DUE = 'up_next_due'

const RECONNECT_MS = 500
/** How often a connection that only listens is asked for a sign of life: one that was cut off gives none of its end. */
const HEARTBEAT_MS = 5000
const HEARTBEAT = Object.assign({ text: 'SELECT 1' }, { query_timeout: 2000 })

/**
 * Listens to channels over a connection of its own, which is reopened when it breaks. Notices sent meanwhile are lost,
 * so a notice may only trigger an early poll of what is polled anyway.
 * @param onError called once for each period in which notices are lost
 * @param heartbeatMs other than usual for tests
 */
export function listenTo(
  databaseUrl: string,
  channels: string | readonly string[],
  onNotice: (payload: string, channel: string) => void,
  onError: (error: Error) => void,
  heartbeatMs = HEARTBEAT_MS,
): { close(): Promise<void> } {
  let closed = false
  let reported = false
  let current: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined

  const listen = async (): Promise<void> => {
    const client = postgresClient(databaseUrl, {
      connectionTimeoutMillis: 2000,
      keepAlive: true,
      application_name: 'easel listen',
    })
    current = client
    let lost = false
    const reconnect = (error?: Error) => {
      if (lost) return
      lost = true
      clearTimeout(timer)
      client.end().catch(() => undefined)
      if (closed) return
      if (error && !reported) onError(error)
      reported ||= error !== undefined
      timer = setTimeout(() => void listen(), RECONNECT_MS)
    }
    const heartbeat = () => {
      if (!lost && !closed)
        timer = setTimeout(() => void client.query(HEARTBEAT).then(heartbeat, reconnect), heartbeatMs)
    }
    client.on('error', reconnect)
    client.on('end', () => reconnect())
    client.on('notification', ({ payload, channel }) => onNotice(payload ?? '', channel))
    try {
      await client.connect()
      for (const channel of [channels].flat()) await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
      reported = false
      heartbeat()
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

const NOTIFY = statement('notify')`
  SELECT count(pg_notify(channel, payload))
    FROM unnest(${param('channels')}::text[], ${param('payloads')}::text[]) AS notice (channel, payload)`

/**
 * Sends notices in statements of their own, after what they tell is committed. Postgres lets one transaction that notifies
 * commit at a time, each until it is on the disk: a claim or an end that notified would wait for all others. A statement
 * that only notifies writes nothing to the disk. All notices that come while it runs are sent by the next.
 */
export function noticeSender({ pool }: Pick<Database, 'pool'>): (channel: string, payload: string) => void {
  const send = batchedInTurn<readonly [channel: string, payload: string], void>(
    () => '',
    async (notices) => {
      const [channels, payloads] = [notices.map(([channel]) => channel), notices.map(([, payload]) => payload)]
      await NOTIFY.run(pool, { channels, payloads })
      return notices.map(() => undefined)
    },
  )
  // Who waits for it looks by itself, too.
  return (channel, payload) => void send([channel, payload]).catch(() => undefined)
}

const CALL = statement('call_workers')`SELECT pg_notify(${WAITING}, '')`

/**
 * Lets a worker wake the others for a job that it got and can't do: the job is used up, and they would find the generation
 * only by their next poll.
 * @param onAsked an import wants to know what its backends can draw with
 */
export function workerCall(
  { pool }: Database,
  databaseUrl: string,
  { onCall, onAsked }: { readonly onCall: () => void; readonly onAsked: () => void },
  onError: (error: Error) => void,
): { callOthers(): Promise<void>; close(): Promise<void> } {
  const onNotice = (_: string, channel: string) => (channel === DEFINITION_ASKED ? onAsked() : onCall())
  const { close } = listenTo(databaseUrl, [WAITING, DEFINITION_ASKED], onNotice, onError)
  return { callOthers: () => CALL.run(pool).catch(onError), close }
}
