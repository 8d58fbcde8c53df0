import {
  createImageModelNotFound,
  createImageModelUnavailable,
  modelVersionNotFound,
  modelVersionUnavailable,
} from '../errors.js'

/** One selectable model version. */
export interface ModelVersion {
  readonly id: number
  readonly name: string
  readonly modelName: string
  readonly baseModel: string
  readonly type: string
  /** The checkpoint's file name, as the inference servers know it. */
  readonly filename: string
  readonly coverImage: string | null
  readonly nsfw: boolean
  readonly enabled: boolean
  readonly creditsPerImage: number
  /** The Create Image model ID that this version serves, if any. */
  readonly createImageModel: string | null
}

export interface ModelStore {
  find(id: number): Promise<ModelVersion | undefined>
  findByCreateImageModel(model: string): Promise<ModelVersion | undefined>
  /** Enabled versions, sorted by lower(model_name), lower(name), id. */
  listEnabled(): Promise<ModelVersion[]>
}

/** @throws not_found or model_unavailable, naming the version ID */
export function requireAvailable(model: ModelVersion | undefined, id: number): ModelVersion {
  if (!model) throw modelVersionNotFound(id)
  if (!model.enabled) throw modelVersionUnavailable(id)
  return model
}

/** @throws not_found or model_unavailable, naming the Create Image model */
export function requireCreateImageModel(model: ModelVersion | undefined, name: string): ModelVersion {
  if (!model) throw createImageModelNotFound(name)
  if (!model.enabled) throw createImageModelUnavailable(name)
  return model
}
