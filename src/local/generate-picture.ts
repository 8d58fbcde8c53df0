import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Stage } from './terminal.js'

/** A client of the Personal Access API, as anyone could write one. */
export interface Client {
  /** The public origin. */
  readonly baseUrl: string
  readonly key: string
  readonly show: (stage: Stage) => void
  readonly signal: AbortSignal
}

export interface Picture {
  readonly url: string
  readonly slug: string
  readonly seed: number
  readonly png: Buffer
  /** Pixels, as the file says. */
  readonly width: number
  readonly height: number
}

const submittedSchema = z.object({ id: z.string() })
const polledSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('queued'), queue_position: z.number() }),
  z.object({ status: z.literal('processing') }),
  z.object({
    status: z.literal('succeeded'),
    output: z.object({ images: z.array(z.object({ url: z.string(), id: z.string() })).min(1), seed: z.number() }),
  }),
  z.object({ status: z.literal('failed'), error: z.string() }),
])

/** Quick at first, for previews; then as the API recommends. Stays below 10 requests in 10 seconds. */
const POLL_AFTER_MS = [100, 150, 250, 500, 1000]
const POLL_MS = 2000
const REQUEST_MS = 30_000
/** How long a server that doesn't answer is asked again. */
const UNREACHABLE_MS = 6000
/** How long one is that says to come back later. */
const BUSY_MS = 300_000

/**
 * Submits one generation, shows its way through the queue, and fetches the picture by its public URL.
 * @throws Error with one sentence: the service's own where it refuses or fails
 */
export async function generatePicture(
  client: Client,
  prompt: string,
  modelVersionId: number,
  onceKey: string,
): Promise<Picture> {
  client.show({ text: 'Submitting' })
  const submitted = await call(client, '/api/v1/generate', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': onceKey },
    body: JSON.stringify({ prompt, model_version_id: modelVersionId }),
  })
  const { id } = submittedSchema.parse(await submitted.json())
  for (let polls = 0; ; polls++) {
    await delay(POLL_AFTER_MS[polls] ?? POLL_MS, undefined, { signal: client.signal })
    const response = await call(client, `/api/v1/generate/${id}`)
    const polled = polledSchema.parse(await response.json())
    switch (polled.status) {
      case 'queued':
        client.show({ text: `Queued, place ${polled.queue_position}` })
        break
      case 'processing': {
        const drawn = response.headers.get('x-progress')
        client.show({ text: 'Drawing', ...(drawn !== null && { fraction: Number(drawn) }) })
        break
      }
      case 'failed':
        throw new Error(`The generation failed: ${polled.error}`)
      case 'succeeded': {
        const { url, id: slug } = polled.output.images[0] as { url: string; id: string }
        return { url, slug, seed: polled.output.seed, ...(await download(client, url)) }
      }
    }
  }
}

/** Asks again while the service says to come back later, or says nothing; every request here may be repeated. */
async function call({ baseUrl, key, show, signal }: Client, path: string, init: RequestInit = {}): Promise<Response> {
  const began = Date.now()
  for (;;) {
    let response: Response
    try {
      response = await fetch(`${baseUrl}${path}`, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${key}` },
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
      })
    } catch (error) {
      signal.throwIfAborted()
      if (Date.now() - began > UNREACHABLE_MS)
        throw new Error(`${baseUrl} doesn't answer (${reasonOf(error)}): BASE_URL must lead to this server.`, {
          cause: error,
        })
      await delay(250, undefined, { signal })
      continue
    }
    if (response.ok) return response
    const message = await refusalOf(response)
    const busy = response.status === 429 || response.status === 503
    if (!busy || Date.now() - began > BUSY_MS) throw new Error(message)
    show({
      text: message.includes('active generation')
        ? 'Waiting for an earlier generation to end'
        : 'Waiting for the service',
    })
    await delay(1000 * Math.max(1, Number(response.headers.get('retry-after') ?? 1)), undefined, { signal })
  }
}

async function refusalOf(response: Response): Promise<string> {
  const body = await response.json().catch(() => undefined)
  if (typeof body?.error === 'string') return body.error
  return `${response.url} answered ${response.status}, and not as Easel does: BASE_URL must lead to this server.`
}

async function download({ show, signal }: Client, url: string) {
  show({ text: 'Downloading' })
  let png: Buffer
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]) })
    if (!response.ok) throw new Error(`status ${response.status}`)
    png = Buffer.from(await response.arrayBuffer())
  } catch (error) {
    signal.throwIfAborted()
    throw new Error(
      `The picture was made, but ${url} can't be fetched (${reasonOf(error)}): CDN_BASE_URL must lead to it.`,
      {
        cause: error,
      },
    )
  }
  if (png.toString('latin1', 1, 4) !== 'PNG')
    throw new Error(`What ${url} gives is no PNG: CDN_BASE_URL must lead to the pictures.`)
  return { png, width: png.readUInt32BE(16), height: png.readUInt32BE(20) }
}

/** fetch says "fetch failed" and hides the reason beneath. */
function reasonOf(error: unknown): string {
  let innermost = error as Error & { code?: string }
  while (innermost.cause instanceof Error) innermost = innermost.cause as typeof innermost
  return innermost.code ?? innermost.message
}
