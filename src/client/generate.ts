import type { components, operations } from './api.js'
import { EaselError } from './easel-error.js'
import { type Api, type Ended, follow, type Progress } from './follow-generation.js'
import { type Answered, type Fate, persistently } from './persistently.js'

/** What to draw: the body of `POST /api/v1/generate`. */
export type Prompt = operations['submitGeneration']['requestBody']['content']['application/json']

export interface GenerateOptions {
  /** Stops waiting and cancels the generation, with a refund: `generate` rejects once that is done, or after 10 s. */
  readonly signal?: AbortSignal
  /** Leaves the generation to itself when `signal` aborts; the same `idempotencyKey` finds it again. */
  readonly keepOnAbort?: boolean
  /** Called whenever there is something new to show. */
  readonly onProgress?: (progress: Progress) => void
  /** Repeats with the same key get the same generation, also from another process. Default: a new one. */
  readonly idempotencyKey?: string
  /**
   * False throws at once when another generation of the account is active, or a limit is reached. Default: waits. A
   * submit whose answer was lost is repeated until its outcome is known either way.
   */
  readonly waitForTurn?: boolean
  /** How long an unreachable or unavailable server is asked again. Default: 60 s. */
  readonly outageMs?: number
}

export interface GeneratedImage {
  /** Permanent and public. */
  readonly url: string
  /** The slug. */
  readonly id: string
  /** Makes this image alone again; undefined where an image of its batch was removed meanwhile. */
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

/** Not randomUUID, which browsers keep from pages that came over plain HTTP. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

type Submitted = Answered<components['schemas']['SubmittedGeneration']>
type Submit = (signal: AbortSignal) => Promise<Submitted>

/** How long a submit that is under way may still be answered after an abort; and then, how long to cancel it. */
const GRACE_MS = 5000
const SEEDS = 2 ** 32
const SENDABLE_KEY = /^[\x20-\x7e\xa0-\xff]{1,255}$/

export async function generate(api: Api, prompt: Prompt, options: GenerateOptions): Promise<Generated> {
  const { signal, keepOnAbort = false, outageMs = 60_000, waitForTurn = true, onProgress } = options
  const { idempotencyKey = newKey() } = options
  // Checked here: fetch throws for such a header, which would be taken for an outage and retried for a minute.
  if (!SENDABLE_KEY.test(idempotencyKey))
    throw new EaselError('invalid_request', 'An idempotencyKey must have 1 to 255 characters of Latin-1.')
  const params = { header: { 'idempotency-key': idempotencyKey } }
  const submit: Submit = async (cut) =>
    (await api.POST('/api/v1/generate', { body: prompt, params, signal: cut })) as Submitted
  const fate: Fate = { unknown: false }
  let id: string | undefined
  try {
    // The answer to a submit that is under way names the generation to cancel.
    const { data, response } = await persistently(submit, {
      ...{ signal, graceMs: GRACE_MS, outageMs, waitForTurn, fate, about: { idempotencyKey } },
    })
    id = data.id
    const held = response.headers.get('x-credits-remaining')
    const creditsRemaining = held === null ? undefined : Number(held)
    signal?.throwIfAborted()
    const persistence = { signal, outageMs, waitForTurn: true, about: { generationId: id } }
    const ended = await follow(api, id, persistence, onProgress)
    const made = imagesOf(ended, prompt.batch_size ?? 1)
    return { id, ...made, creditsCharged: data.credits_charged, creditsRemaining }
  } catch (error) {
    if (signal?.aborted && !keepOnAbort) await takeBack(api, id, submit, fate)
    throw error
  }
}

function imagesOf(ended: Ended, batchSize: number): Pick<Generated, 'images' | 'seed'> {
  if (ended.status === 'failed') throw new EaselError('generation_failed', ended.error, { generationId: ended.id })
  const { images, seed } = ended.output
  // The answer does not say which images of a batch are left.
  const seedOf = (n: number) => (images.length === batchSize ? (seed + n) % SEEDS : undefined)
  return { images: images.map((image, n) => ({ ...image, seed: seedOf(n) })), seed }
}

/** Best effort: a generation that can't be canceled in time runs to its end and its images stay in the account. */
async function takeBack(api: Api, knownId: string | undefined, submit: Submit, fate: Fate): Promise<void> {
  if (knownId === undefined && !fate.unknown) return
  const persistence = { signal: AbortSignal.timeout(GRACE_MS), outageMs: GRACE_MS, waitForTurn: true }
  try {
    // The answer was lost: the same key gets it again. A submit that had not arrived is made now, and canceled as well.
    const id = knownId ?? (await persistently(submit, { ...persistence, waitForTurn: false, fate })).data.id
    const path = { id }
    await persistently(
      (cut) => api.POST('/api/v1/generate/{id}/cancel', { params: { path }, signal: cut }),
      persistence,
    )
  } catch {
    // The caller gets the reason of the abort, not this.
  }
}
