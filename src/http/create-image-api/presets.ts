/** The public names of models and samplers in spec 4.6, and what they stand for in the core. */
import { type ModelVersion, requireCreateImageModel } from '../../core/catalog/model-version.js'
import { invalidParameter } from '../../core/errors.js'
import { LACKING, type ServableNow } from '../../core/generations/failure-reason.js'
import type { Sampler } from '../../core/generations/generation.js'

export const CREATE_IMAGE_SAMPLERS = ['euler-a', 'dpm-2m-karras', 'dpm-sde-karras', 'ddim'] as const

export const samplerOf: Readonly<Record<(typeof CREATE_IMAGE_SAMPLERS)[number], Sampler>> = {
  'euler-a': 'euler_a',
  'dpm-2m-karras': 'dpmpp_2m_karras',
  'dpm-sde-karras': 'dpmpp_sde_karras',
  ddim: 'ddim',
}

/** A sentence of the core, with the sampler's public name instead of the core's. */
export const withPublicSampler = (sentence: string): string =>
  Object.entries(samplerOf).reduce((text, [name, sampler]) => text.replace(`"${sampler}"`, `"${name}"`), sentence)

/**
 * The model that was asked for by this name, if it can be drawn with the sampler.
 * @throws not_found, model_unavailable, or invalid_request where no live GPU server has the sampler for this model
 */
export async function requireUsableModel(
  abilities: ServableNow,
  name: string,
  found: ModelVersion | undefined,
  sampler: Sampler,
): Promise<ModelVersion> {
  const model = requireCreateImageModel(found, name)
  if (await abilities.isSamplerUnavailable(model.filename, sampler))
    throw invalidParameter('sampler', withPublicSampler(LACKING.sampler.replace('%', sampler)))
  return model
}
