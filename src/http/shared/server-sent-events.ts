import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { tooManyStreams } from '../../core/errors.js'

/** How much is buffered for a slow reader. */
const BUFFER_BYTES = 16 * 1024

/**
 * Server-sent events for one reader. A slow reader gets only the latest progress, preview and comment: no more is kept
 * than the buffer and one event of each kind. Neither @fastify/sse nor better-sse leaves out what is no longer the latest.
 */
export class EventStream extends Readable {
  #full = false
  #over = false
  /** By kind, the oldest first. */
  readonly #waiting = new Map<string, string>()

  /** @param retryMs how long a client should wait before it connects again */
  constructor(retryMs: number) {
    super({ highWaterMark: BUFFER_BYTES })
    this.push(`retry: ${retryMs}\n\n`)
  }

  override _read(): void {
    this.#full = false
    for (const [kind, text] of this.#waiting) {
      this.#waiting.delete(kind)
      this.#full = !this.push(text)
      if (this.#full) return
    }
  }

  /** Sends an event that must arrive; drops what still waits, which is outdated then. */
  send(event: string, data: EventData): void {
    if (this.#over) return
    this.#waiting.clear()
    this.#full = !this.push(eventText(event, data))
  }

  /** Sends an event that the next one of its kind, by default its name, may replace. */
  sendLatest(event: string, data: EventData, kind = event): void {
    this.#put(kind, eventText(event, data))
  }

  /** Keeps the connection alive. */
  comment(text: string): void {
    this.#put(':', commentText(text))
  }

  /** Sends a last comment or event. */
  end(last: string | { readonly event: string; readonly data: EventData }): void {
    if (this.#over) return
    this.#over = true
    this.#waiting.clear()
    this.push(typeof last === 'string' ? commentText(last) : eventText(last.event, last.data))
    this.push(null)
  }

  #put(kind: string, text: string): void {
    if (this.#over) return
    if (this.#full) this.#waiting.set(kind, text)
    else this.#full = !this.push(text)
  }
}

/** An object is sent as JSON, a text as it is. */
type EventData = object | string

/** @param event empty: a message, which has no name */
function eventText(event: string, data: EventData): string {
  // A line break would end the data, so each line gets a field of its own.
  const text = typeof data === 'string' ? data.replace(/\r\n?|\n/g, '\ndata: ') : JSON.stringify(data)
  return `${event && `event: ${event}\n`}data: ${text}\n\n`
}
const commentText = (text: string) => `: ${text}\n\n`

export interface StreamTimes {
  /** Between comments that keep a connection alive. */
  readonly heartbeatMs: number
  /** A stream ends after this; its client reconnects, perhaps to another server. */
  readonly longestMs: number
}

const TIMES: StreamTimes = { heartbeatMs: 15_000, longestMs: 300_000 }
const MAX_PER_ACCOUNT = 8
const RETRY_MS = 2000

/** The open streams of a server; each account may have a few. */
export function createEventStreams({ heartbeatMs, longestMs }: StreamTimes = TIMES) {
  /** With the account of each. */
  const streams = new Map<EventStream, string>()
  const heartbeat = setInterval(() => {
    for (const stream of streams.keys()) stream.comment('still here')
  }, heartbeatMs).unref()

  return {
    /** @throws too_many_streams */
    open(accountId: string): EventStream {
      const own = [...streams.values()].filter((id) => id === accountId)
      if (own.length >= MAX_PER_ACCOUNT) throw tooManyStreams(MAX_PER_ACCOUNT)
      const stream = new EventStream(RETRY_MS)
      streams.set(stream, accountId)
      const timeout = setTimeout(() => stream.end('reconnect'), longestMs).unref()
      stream.once('close', () => {
        clearTimeout(timeout)
        streams.delete(stream)
      })
      return stream
    },

    endAll(): void {
      clearInterval(heartbeat)
      for (const stream of streams.keys()) stream.end('this server is restarting: reconnect')
    },
  }
}

/** Answers with the stream. */
export function sendEvents(reply: FastifyReply, stream: EventStream): FastifyReply {
  // A proxy must not hold the events back: neither in a buffer, nor until there is enough to compress.
  reply.headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }).type('text/event-stream')
  return reply.send(stream)
}
