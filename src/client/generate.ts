import type { Client } from 'openapi-fetch'
import type { components, operations, paths } from './api.js'
import { EaselError } from './easel-error.js'
import { type Ended, follow, type Progress } from './follow.js'
import { type Persistence, persistently } from './persistently.js'

/** What to draw: the body of `POST /api/v1/generate`. */
export type Prompt = operations['submitGeneration']['requestBody']['content']['application/json']

export interface GenerateOptions {
  /** Stops waiting and cancels the generation, which gives its credits back. */
  readonly signal?: AbortSignal
  /** Leaves the generation to itself when `signal` aborts; it can be polled later. */
  readonly keepOnAbort?: boolean
  /** Called whenever there is something new to show. */
  readonly onProgress?: (progress: Progress) => void
  /** Repeats with the same key get the same generation, also from another process. Default: a new one. */
  readonly idempotencyKey?: string
  /** False throws at once when another generation of the account is active, or a limit is reached. Default: waits. */
  readonly waitForTurn?: boolean
  /** How long an unreachable or unavailable server is asked again. Default: 60 s. */
  readonly outageMs?: number
}

export interface GeneratedImage {
  /** Permanent and public. */
  readonly url: string
  /** The slug. */
  readonly id: string
  /** Makes this image alone again; undefined where a picture of its batch was removed meanwhile. */
  readonly seed: number | undefined
}

export interface Generated {
  readonly id: string
  /** In the order of the batch. */
  readonly images: readonly GeneratedImage[]
  readonly seed: number
  readonly creditsCharged: number
  /** The balance after the charge; undefined where the server does not tell. */
  readonly creditsRemaining: number | undefined
}

const OUTAGE_MS = 60_000
const CANCEL_MS = 5000
const SEEDS = 2 ** 32

export async function generate(api: Client<paths>, prompt: Prompt, options: GenerateOptions): Promise<Generated> {
  const { signal, outageMs = OUTAGE_MS, waitForTurn = true, idempotencyKey = crypto.randomUUID() } = options
  const submit: Persistence = { signal, outageMs, waitForTurn }
  const settling = graceAfter(signal, CANCEL_MS)
  const { data, response } = await persistently(
    () =>
      api.POST('/api/v1/generate', {
        body: prompt,
        params: { header: { 'idempotency-key': idempotencyKey } },
        signal: settling.signal,
      }),
    submit,
  ).finally(settling.clear)
  const submitted = data as components['schemas']['SubmittedGeneration']
  const { id } = submitted
  const held = response.headers.get('x-credits-remaining')
  const creditsRemaining = held === null ? undefined : Number(held)
  try {
    signal?.throwIfAborted()
    const ended = await follow(api, id, { ...submit, waitForTurn: true }, options.onProgress)
    const { images, seed } = imagesOf(ended, prompt.batch_size ?? 1)
    return { id, images, seed, creditsCharged: submitted.credits_charged, creditsRemaining }
  } catch (error) {
    if (signal?.aborted && !options.keepOnAbort) await cancel(api, id)
    throw error
  }
}

function imagesOf(ended: Ended, batchSize: number): Pick<Generated, 'images' | 'seed'> {
  if (ended.status === 'failed') {
    throw new EaselError('generation_failed', ended.error, { generationId: ended.id })
  }
  const { images, seed } = ended.output
  // Which of a batch are left is not told.
  const seedOf = (n: number) => (images.length === batchSize ? (seed + n) % SEEDS : undefined)
  return { images: images.map((image, n) => ({ ...image, seed: seedOf(n) })), seed }
}

/** Aborts so long after the other: the answer to a submit that is on its way names what is to be canceled. */
function graceAfter(signal: AbortSignal | undefined, ms: number): { signal: AbortSignal; clear: () => void } {
  const late = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const begin = () => {
    timer = setTimeout(() => late.abort(signal?.reason), ms)
  }
  if (signal?.aborted) late.abort(signal.reason)
  else signal?.addEventListener('abort', begin, { once: true })
  return {
    signal: late.signal,
    clear() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', begin)
    },
  }
}

/** Best effort: one that can't be canceled is drawn to its end and stays in the account. */
async function cancel(api: Client<paths>, id: string): Promise<void> {
  const persistence = { signal: AbortSignal.timeout(CANCEL_MS), outageMs: CANCEL_MS, waitForTurn: true }
  await persistently(
    () =>
      api.POST('/api/v1/generate/{id}/cancel', { params: { path: { id } }, signal: AbortSignal.timeout(CANCEL_MS) }),
    persistence,
  ).catch(() => undefined)
}
