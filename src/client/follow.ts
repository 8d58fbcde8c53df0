import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { Client } from 'openapi-fetch'
import type { components, paths } from './api.js'
import { refusal } from './easel-error.js'
import { type Persistence, pause, persistently } from './persistently.js'

type Polled = components['schemas']['Generation']
export type Ended = Extract<Polled, { status: 'succeeded' | 'failed' }>

/** What is known of a generation that has not ended. */
export interface Progress {
  readonly id: string
  readonly status: 'queued' | 'processing'
  /** 1 for the next one up; while queued. */
  readonly queuePosition?: number
  /** 0 to 1; while processing. */
  readonly progress?: number
  /** Whole seconds to its end, as far as that is known. */
  readonly etaSeconds?: number
  /** A small picture of what there is so far, as a data URL, where the GPU server shows one. */
  readonly preview?: string
}

/** How long one poll waits for news; within what proxies allow. */
const WAIT_SECONDS = 20
/** A stream that keeps breaking is not worth more: polls do as well. */
const STREAMS = 3
/** Heartbeats come every 15 s: a stream on which nothing has come for so long has been cut on the way. */
const SILENCE_MS = 40_000

/**
 * Waits for the end of a generation: over its event stream, and by polls at the server's pace where that can't be had.
 * @throws EaselError
 */
export async function follow(
  api: Client<paths>,
  id: string,
  persistence: Persistence,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<Ended> {
  const faults: unknown[] = []
  const tell = (progress: Progress) => {
    try {
      onProgress?.(progress)
    } catch (error) {
      faults.push(error)
      throw error
    }
  }
  for (let n = 0; n < STREAMS && onProgress; n++) {
    const ended = await overStream(api, id, persistence.signal, tell).catch(() => undefined)
    persistence.signal?.throwIfAborted()
    // The caller's own fault is no broken stream.
    if (faults.length > 0) throw faults[0]
    if (ended) return ended
  }
  return byPolls(api, id, persistence, onProgress)
}

/** Undefined when the stream ended before the generation did. */
async function overStream(
  api: Client<paths>,
  id: string,
  signal: AbortSignal | undefined,
  onProgress: (progress: Progress) => void,
): Promise<Ended | undefined> {
  const silence = new AbortController()
  const stopped = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal
  const { response, error } = await api.GET('/api/v1/generate/{id}/events', {
    params: { path: { id } },
    parseAs: 'stream',
    signal: stopped,
  })
  if (!response.ok || !response.body) throw refusal(response, error)
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  let known: Progress = { id, status: 'queued' }
  const reader = events.getReader()
  try {
    for (;;) {
      const timer = setTimeout(() => silence.abort(), SILENCE_MS)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return undefined
      const data: unknown = JSON.parse(value.data)
      if (value.event === 'end') return data as Ended
      known = { ...known, ...newsOf(value.event, data) }
      onProgress(known)
    }
  } finally {
    silence.abort()
  }
}

function newsOf(event: string | undefined, data: unknown): Partial<Progress> {
  switch (event) {
    case 'status': {
      const polled = data as Polled
      return polled.status === 'queued'
        ? { status: 'queued', queuePosition: polled.queue_position }
        : { status: 'processing' }
    }
    case 'queue_position':
      return { queuePosition: (data as { queue_position: number }).queue_position }
    case 'progress':
      return { status: 'processing', progress: (data as { progress: number }).progress }
    case 'preview':
      return { preview: (data as { image: string }).image }
    default:
      return {}
  }
}

async function byPolls(
  api: Client<paths>,
  id: string,
  persistence: Persistence,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<Ended> {
  const { signal } = persistence
  for (;;) {
    const askedAt = Date.now()
    const { data, response } = await persistently(
      () =>
        api.GET('/api/v1/generate/{id}', {
          params: { path: { id }, query: { wait: WAIT_SECONDS } },
          ...(signal && { signal }),
        }),
      persistence,
    )
    const polled = data as Polled
    if (polled.status === 'succeeded' || polled.status === 'failed') return polled
    onProgress?.(progressOf(polled, response.headers))
    // A server that answered at once has not waited for us: then we pause as long as it says.
    const nextAt = askedAt + Number(response.headers.get('retry-after') ?? 2) * 1000
    if (nextAt > Date.now()) await pause(nextAt - Date.now(), signal)
  }
}

function progressOf(polled: Exclude<Polled, Ended>, headers: Headers): Progress {
  const eta = headers.get('x-eta-seconds')
  return {
    id: polled.id,
    status: polled.status,
    ...(eta !== null && { etaSeconds: Number(eta) }),
    ...(polled.status === 'queued'
      ? { queuePosition: polled.queue_position }
      : { progress: Number(headers.get('x-progress') ?? 0) }),
  }
}
