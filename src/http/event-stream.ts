import { Readable } from 'node:stream'

/** What is kept for a reader that is slower than the news. */
const BUFFER_BYTES = 16 * 1024

/**
 * Server-sent events for one reader. While it reads too slowly, of what is only decoration the latest of each kind
 * alone is kept: never more than a buffer and one event of each kind.
 */
export class EventStream extends Readable {
  #full = false
  #over = false
  /** By kind, the older first. */
  readonly #waiting = new Map<string, string>()

  /** @param retryMs what a client should wait before it connects anew */
  constructor(retryMs: number) {
    super({ highWaterMark: BUFFER_BYTES })
    this.push(`retry: ${retryMs}\n\n`)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#over = true
    done(error)
  }

  override _read(): void {
    this.#full = false
    for (const [kind, text] of this.#waiting) {
      this.#waiting.delete(kind)
      this.#full = !this.push(text)
      if (this.#full) return
    }
  }

  /** An event that must arrive; what waits is out of date with it. */
  tell(event: string, data: object): void {
    if (this.#over) return
    this.#waiting.clear()
    this.#full = !this.push(eventText(event, data))
  }

  /** An event that the next one of its kind replaces. */
  show(event: string, data: object): void {
    this.#put(event, eventText(event, data))
  }

  /** Something to read that is no event: keeps the connection alive. */
  comment(text: string): void {
    this.#put('', `: ${text}\n\n`)
  }

  /** The last thing it sends. */
  end(last: string | { readonly event: string; readonly data: object }): void {
    if (this.#over) return
    this.#over = true
    this.#waiting.clear()
    this.push(typeof last === 'string' ? `: ${last}\n\n` : eventText(last.event, last.data))
    this.push(null)
  }

  #put(kind: string, text: string): void {
    if (this.#over) return
    if (this.#full) this.#waiting.set(kind, text)
    else this.#full = !this.push(text)
  }
}

const eventText = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
