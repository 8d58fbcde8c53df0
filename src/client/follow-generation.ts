import { createParser } from 'eventsource-parser'
import type { Client } from 'openapi-fetch'
import type { components, paths } from './api.js'
import { EaselError, refusal, retryAfterOf } from './easel-error.js'
import { type Persistence, pause, persistently, TRY_MS, timeLimit } from './persistently.js'

export type Api = Client<paths>

type Polled = components['schemas']['Generation']
export type Ended = Extract<Polled, { status: 'succeeded' | 'failed' }>
type Unfinished = Exclude<Polled, Ended>

/** What is known of a generation that has not ended. */
export interface Progress {
  readonly id: string
  readonly status: 'queued' | 'processing'
  /** 1 for the next one up; while queued. */
  readonly queuePosition?: number
  /** 0 to 1; while processing, where the GPU server tells. */
  readonly progress?: number
  /** Whole seconds to its end, as far as that is known. */
  readonly etaSeconds?: number
  /** A small image of what there is so far, as a data URL, where the GPU server shows one. */
  readonly preview?: string
}

/** How long one poll waits for news; within what proxies allow. */
const WAIT_SECONDS = 20
/** What a poll may take beyond its wait. */
const POLL_MARGIN_MS = 15_000
/** Between polls, and before a broken stream is opened anew, where the server does not say. */
const USUAL_PAUSE_SECONDS = 2
const SHORTEST_PAUSE_MS = 1000
/** After a stream that worked for so long, the next one is opened without a longer wait. */
const STEADY_MS = 30_000
/** Where no stream can be opened they are tried ever more rarely. */
const RARER = 4
const LONGEST_GAP_MS = 300_000

/** Waits for the end: over the event stream, and by polls at the server's pace while that can't be had. @throws EaselError */
export async function follow(api: Api, id: string, persistence: Persistence, onProgress?: Tell): Promise<Ended> {
  const tell = onProgress && newsOnly(onProgress)
  for (let rarer = 1; ; ) {
    let gapMs = Number.POSITIVE_INFINITY
    if (tell) {
      const stream = await overStream(api, id, persistence.signal, tell)
      if (stream.ended) return stream.ended
      persistence.signal?.throwIfAborted()
      rarer = stream.openMs > STEADY_MS ? 1 : rarer
      gapMs = Math.min(LONGEST_GAP_MS, stream.pauseMs * rarer)
      rarer *= RARER
    }
    const ended = await byPolls(api, id, persistence, tell, performance.now() + gapMs)
    if (ended) return ended
  }
}

type Tell = (progress: Progress) => void

/** Polls and streams repeat a state that has not changed. */
function newsOnly(onProgress: Tell): Tell {
  let told: string | undefined
  return (progress) => {
    const now = JSON.stringify(progress)
    if (now === told) return
    told = now
    onProgress(progress)
  }
}

/** Follows one event stream, maybe to the end; `pauseMs`: how long to wait before the next. @throws what `tell` throws */
async function overStream(api: Api, id: string, signal: AbortSignal | undefined, tell: Tell) {
  const openedAt = performance.now()
  const read: { ended?: Ended; openMs: number; pauseMs: number } = { openMs: 0, pauseMs: USUAL_PAUSE_SECONDS * 1000 }
  const body = await openStream(api, id, signal).catch((error: unknown) => {
    const seconds = error instanceof EaselError ? error.retryAfterSeconds : undefined
    if (seconds) read.pauseMs = seconds * 1000
  })
  if (!body) return read
  const onSound = () => {
    read.openMs = performance.now() - openedAt
  }
  const onRetry = (ms: number) => {
    read.pauseMs = Math.max(ms, SHORTEST_PAUSE_MS)
  }
  let known: Progress | undefined
  for await (const { event, data } of messagesOf(body, { signal, onSound, onRetry })) {
    if (event === 'end') return { ...read, ended: data as Ended }
    known = event === 'status' ? progressOf(data as Unfinished) : known && withNews(known, event, data)
    if (known) tell(known)
  }
  return read
}

async function openStream(api: Api, id: string, signal: AbortSignal | undefined): Promise<ReadableStream<Uint8Array>> {
  const head = timeLimit(signal, TRY_MS)
  try {
    const { response, error } = await api.GET('/api/v1/generate/{id}/events', {
      params: { path: { id } },
      parseAs: 'stream',
      signal: head.signal,
    })
    if (!response.ok || !response.body) throw refusal(response, error)
    return response.body
  } finally {
    head.clear()
  }
}

/** An event of the other status changes nothing. */
function withNews(known: Progress, event: string | undefined, data: unknown): Progress {
  const news = data as { queue_position: number; progress: number; image: string }
  if (known.status === 'queued')
    return event === 'queue_position' ? { ...known, queuePosition: news.queue_position } : known
  if (event === 'progress') return { ...known, progress: news.progress }
  if (event === 'preview') return { ...known, preview: news.image }
  return known
}

/** Undefined when the generation has not ended `until` then. */
async function byPolls(api: Api, id: string, persistence: Persistence, tell: Tell | undefined, until: number) {
  for (;;) {
    const askedAt = performance.now()
    const wait = Math.max(1, Math.min(WAIT_SECONDS, Math.floor((until - askedAt) / 1000)))
    const { data: polled, response } = await persistently(
      (cut) => api.GET('/api/v1/generate/{id}', { params: { path: { id }, query: { wait } }, signal: cut }),
      { ...persistence, tryMs: wait * 1000 + POLL_MARGIN_MS },
    )
    if (polled.status === 'succeeded' || polled.status === 'failed') return polled
    tell?.(progressOf(polled, response.headers))
    // A server that answered at once has not waited for us: then we pause as long as it says.
    const said = (retryAfterOf(response.headers) ?? USUAL_PAUSE_SECONDS) * 1000
    const nextAt = askedAt + Math.max(said, SHORTEST_PAUSE_MS)
    const now = performance.now()
    if (nextAt > now) await pause(Math.min(nextAt, until) - now, persistence.signal)
    if (performance.now() >= until) return undefined
  }
}

function progressOf(polled: Unfinished, headers = new Headers()): Progress {
  const eta = headers.get('x-eta-seconds')
  const drawn = headers.get('x-progress')
  return {
    id: polled.id,
    status: polled.status,
    ...(eta !== null && { etaSeconds: Number(eta) }),
    ...(polled.status === 'queued' && { queuePosition: polled.queue_position }),
    ...(drawn !== null && { progress: Number(drawn) }),
  }
}

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
