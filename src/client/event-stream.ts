import { createParser } from 'eventsource-parser'

export interface Message {
  readonly event: string | undefined
  readonly data: unknown
}

/** Heartbeats come every 15 s: a stream that is silent for so long is broken. */
const SILENCE_MS = 40_000

interface Listening {
  readonly signal: AbortSignal | undefined
  /** Called for whatever comes, heartbeats, too. */
  readonly onSound: () => void
  /** Called when the server says how long to wait before connecting anew. */
  readonly onRetry: (ms: number) => void
}

/** The events of a stream until it ends, breaks, falls silent or the signal aborts. */
export async function* messagesOf(
  body: ReadableStream<Uint8Array>,
  { signal, onSound, onRetry }: Listening,
): AsyncGenerator<Message> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const arrived: Message[] = []
  const parser = createParser({
    onRetry,
    onEvent: ({ event, data }) => arrived.push({ event, data: JSON.parse(data) }),
  })
  // The request's signal may not reach its body once the request was collected as garbage; this does.
  const stop = () => void reader.cancel().catch(() => undefined)
  const listen = async (): Promise<boolean> => {
    const silence = setTimeout(stop, SILENCE_MS)
    try {
      const { done, value } = await reader.read()
      if (!done) parser.feed(decoder.decode(value, { stream: true }))
      return !done
    } catch {
      return false
    } finally {
      clearTimeout(silence)
    }
  }
  signal?.addEventListener('abort', stop, { once: true })
  try {
    while (!signal?.aborted && (await listen())) {
      onSound()
      yield* arrived.splice(0)
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
  }
}
