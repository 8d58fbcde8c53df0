import { type ModelVersion, requireCreateImageModel } from '../../catalog/model-version.js'
import { invalidParameter } from '../../errors.js'
import { type Abilities, LACKING } from '../../generation/failure-reason.js'
import type { GenerationRequest } from '../../generation/generation.js'
import { inOwnWords } from './presets.js'

/**
 * The model that was asked for by this name.
 * @throws not_found or model_unavailable; invalid_request where no live GPU server draws it with the sampler
 */
export async function requireDrawable(
  { abilities }: { readonly abilities: Abilities },
  name: string,
  found: ModelVersion | undefined,
  { sampler }: GenerationRequest,
): Promise<ModelVersion> {
  const model = requireCreateImageModel(found, name)
  if (await abilities.lackSampler(model.filename, sampler))
    throw invalidParameter('sampler', inOwnWords(LACKING.sampler.replace('%', sampler)))
  return model
}
