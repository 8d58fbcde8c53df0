import { randomUUID } from 'node:crypto'
import type { ModelParameters } from '../core/catalog/model-parameters.js'
import { parametersOf as parametersOnly, SAMPLERS, type Sampler } from '../core/generations/generation.js'
import { CAPABILITIES_WITHIN_MS, type InferenceBackend } from '../core/generations/run/backend.js'
import type { FinishImage } from '../core/generations/run/publish.js'
import { filledFor } from '../core/generations/submit/requested.js'
import { withTimeLimit } from '../lib/abort-signals.js'
import { failure } from './backend-failure.js'

export type BackendFindings = Awaited<ReturnType<typeof inspectBackend>>
export type DrawnCheck = Awaited<ReturnType<typeof drawCheck>>

/** A multiple of every server's size step; small, because only whether it draws matters. */
const SIDE = 512
const DRAWING = { prompt: 'a lighthouse at dusk', negativePrompt: '', width: SIDE, height: SIDE, steps: 8, cfgScale: 7 }
const OMITTED = ['negativePrompt', 'width', 'height', 'steps', 'cfgScale', 'sampler'] as const
const SEED = 42

/**
 * Reads for an operator what a GPU server has, before a worker uses it. `models` is null if it draws with any; `model` and
 * `sampler` are those to try it with, undefined if it has none of the wanted ones.
 * @param wanted file names of checkpoints, and definitions, that it should have
 * @throws BackendError when it can't be reached
 */
export async function inspectBackend(backend: InferenceBackend, wanted: readonly string[], signal: AbortSignal) {
  const silent = () =>
    failure('unavailable', `${backend.name} did not say within ${CAPABILITIES_WITHIN_MS / 1000} s what it has`)
  // As long as a worker waits, so that a server that passes this check is not down for a worker.
  const offers = await withTimeLimit(signal, CAPABILITIES_WITHIN_MS, (limited) => backend.capabilities(limited), silent)
  const { models, ambiguous = [], samplers, maxSeed, sizeMultiple, lacks = new Map() } = offers
  const has = (filename: string) => models === null || models.includes(filename)
  return {
    ...{ models, ambiguous, maxSeed, sizeMultiple },
    model: wanted.find(has),
    sampler: SAMPLERS.find((name) => samplers.includes(name)),
    advice: (await backend.advice?.(signal)) ?? [],
    missingModels: wanted.filter((filename) => !has(filename)),
    /** What it lacks for definitions, a sentence each. */
    lacks: wanted.flatMap((filename) => (lacks.get(filename) ?? []).map((said: string) => `${filename}: ${said}`)),
    missingSamplers: SAMPLERS.filter((name) => !samplers.includes(name)),
  }
}

/**
 * Lets a GPU server draw one image for an operator.
 * @param parameters the model's own, with which it is drawn: what is sold
 * @param signal aborts when nobody waits any more: the server then stops drawing
 * @throws BackendError when what it drew is not what was asked for
 */
export async function drawCheck(
  backend: InferenceBackend,
  { model, sampler }: { readonly model: string; readonly sampler: Sampler },
  parameters: ModelParameters | null,
  finishImage: FinishImage,
  signal: AbortSignal,
) {
  const asked = filledFor(parameters, { request: { ...DRAWING, batchSize: 1, sampler, seed: SEED }, omitted: OMITTED })
  const begun = performance.now()
  const request = { ...parametersOnly(asked), attemptId: randomUUID(), attempt: 'check', model, seeds: [SEED] }
  const [image] = await backend.generate(request, { signal })
  /** Includes loading the model. */
  const tookMs = Math.round(performance.now() - begun)
  if (!image) throw failure('bad_output', `${backend.name} sent no image`)
  const { width, height } = image.size ?? asked
  const { png } = await finishImage(image.bytes, { width, height, seed: SEED, model })
  return { png, model, sampler: asked.sampler, width, height, steps: asked.steps, tookMs }
}
