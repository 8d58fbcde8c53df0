import type { ModelVersion } from '../catalog/model-version.js'
import { CREATE_IMAGE_MODELS } from '../http/create-image-api/presets.js'

/** What agents get that name no model: the first that Create Image serves, else the first on offer. */
export const defaultModelOf = (enabled: readonly ModelVersion[]): ModelVersion | undefined =>
  CREATE_IMAGE_MODELS.flatMap((name) => enabled.filter(({ createImageModel }) => createImageModel === name))[0] ??
  enabled[0]
