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
  /** Makes this image alone again. */
  readonly seed: number
}

export interface Generated {
  readonly id: string
  /** In the order of the batch. */
  readonly images: readonly GeneratedImage[]
  readonly seed: number
  readonly creditsCharged: number
  /** The balance after the charge. */
  readonly creditsRemaining: number
}

const OUTAGE_MS = 60_000
const CANCEL_MS = 5000
const SEEDS = 2 ** 32

export async function generate(api: Client<paths>, prompt: Prompt, options: GenerateOptions): Promise<Generated> {
  const { signal, outageMs = OUTAGE_MS, waitForTurn = true, idempotencyKey = crypto.randomUUID() } = options
  const submit: Persistence = { signal, outageMs, waitForTurn }
  const { data, response } = await persistently(
    () =>
      api.POST('/api/v1/generate', {
        body: prompt,
        params: { header: { 'idempotency-key': idempotencyKey } },
        ...(signal && { signal }),
      }),
    submit,
  )
  const submitted = data as components['schemas']['SubmittedGeneration']
  const { id } = submitted
  const creditsRemaining = Number(response.headers.get('x-credits-remaining'))
  try {
    const ended = await follow(api, id, { ...submit, waitForTurn: true }, options.onProgress)
    return { ...imagesOf(ended), id, creditsCharged: submitted.credits_charged, creditsRemaining }
  } catch (error) {
    if (signal?.aborted && !options.keepOnAbort) await cancel(api, id)
    throw error
  }
}

function imagesOf(ended: Ended): Pick<Generated, 'images' | 'seed'> {
  if (ended.status === 'failed') {
    throw new EaselError('generation_failed', ended.error, { generationId: ended.id })
  }
  const { images, seed } = ended.output
  return { images: images.map((image, n) => ({ ...image, seed: (seed + n) % SEEDS })), seed }
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
