import { randomUUID } from 'node:crypto'
import { timeLimit } from '../abort-signals.js'
import { CAPABILITIES_WITHIN_MS, type Capabilities, type InferenceBackend } from '../generation/run/backend.js'
import type { FinishImage } from '../generation/run/publish.js'
import { SAMPLERS, type Sampler } from '../generation/sampler.js'
import { failure } from './backend-failure.js'

export interface BackendCheck {
  /** Null where it draws with any. */
  readonly models: readonly string[] | null
  readonly ambiguous: readonly string[]
  /** Of those that were looked for. */
  readonly missingModels: readonly string[]
  readonly missingSamplers: readonly Sampler[]
  readonly maxSeed: number
  readonly sizeMultiple: number
  /** Undefined where the server has none of the models, or no sampler, to make one with. */
  readonly image: CheckImage | undefined
}

interface CheckImage {
  readonly png: Buffer
  readonly model: string
  readonly sampler: Sampler
  readonly side: number
  readonly steps: number
  readonly seed: number
  /** From the request to the last byte, in milliseconds; loading the model is part of it. */
  readonly tookMs: number
}

/** A multiple of every server's; small, since this asks whether it works and not how well it draws. */
const SIDE = 512
const STEPS = 8
const SEED = 42

/**
 * What an operator wants to know of a GPU server before a worker uses it: asks what it has, and has it draw once.
 * @param wanted file names of checkpoints it should have
 * @throws BackendError when it can't be reached, or what it drew is not what was asked for
 */
export async function checkBackend(
  backend: InferenceBackend,
  wanted: readonly string[],
  finishImage: FinishImage,
  signal: AbortSignal,
): Promise<BackendCheck> {
  const { models, ambiguous = [], samplers, maxSeed, sizeMultiple } = await capabilitiesOf(backend, signal)
  const has = (filename: string) => models === null || models.includes(filename)
  const model = wanted.find(has)
  const sampler = SAMPLERS.find((name) => samplers.includes(name))
  const image =
    model === undefined || sampler === undefined ? undefined : await draw(backend, model, sampler, finishImage, signal)
  return {
    ...{ models, ambiguous, maxSeed, sizeMultiple, image },
    missingModels: wanted.filter((filename) => !has(filename)),
    missingSamplers: SAMPLERS.filter((name) => !samplers.includes(name)),
  }
}

/** As retryFor as a worker: a server that this finds in order must not be down to a worker. */
async function capabilitiesOf(backend: InferenceBackend, signal: AbortSignal): Promise<Capabilities> {
  const limit = timeLimit(signal, CAPABILITIES_WITHIN_MS)
  try {
    return await backend.capabilities(limit.signal)
  } catch (error) {
    if (!limit.isOver()) throw error
    throw failure('unavailable', `${backend.name} did not say within ${CAPABILITIES_WITHIN_MS / 1000} s what it has`)
  } finally {
    limit.clear()
  }
}

async function draw(
  backend: InferenceBackend,
  model: string,
  sampler: Sampler,
  finishImage: FinishImage,
  signal: AbortSignal,
): Promise<CheckImage> {
  const begun = performance.now()
  const [image] = await backend.generate(
    {
      ...{ attemptId: randomUUID(), attempt: 'check', model, sampler, steps: STEPS, cfgScale: 7, seeds: [SEED] },
      ...{ prompt: 'a lighthouse at dusk', negativePrompt: '', width: SIDE, height: SIDE },
    },
    { signal },
  )
  const tookMs = Math.round(performance.now() - begun)
  if (!image) throw failure('bad_output', `${backend.name} sent no image`)
  const { png } = await finishImage(image.bytes, { width: SIDE, height: SIDE, seed: SEED, model })
  return { png, model, sampler, side: SIDE, steps: STEPS, seed: SEED, tookMs }
}
