import {
  createImageModelNotFound,
  createImageModelUnavailable,
  modelVersionNotFound,
  modelVersionUnavailable,
} from '../errors.js'
import type { ModelParameters } from './model-parameters.js'
import type { Pricing } from './price.js'

/** The model IDs of spec 4.6. */
export const CREATE_IMAGE_MODELS = [
  'noobai-xl',
  'duchaiten',
  'duchaiten-real',
  'hassaku-illustrious',
  'wai-nsfw-illustrious',
  'plant-milk',
] as const

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
  readonly pricing: Pricing | null
  readonly parameters: ModelParameters | null
  /** The Create Image model ID that this version serves, if any. */
  readonly createImageModel: string | null
  /** A line about it, of up to MAX_DESCRIPTION characters. */
  readonly description: string | null
  /** Its picture: the slug of a published image, or the name of one that was uploaded (cover.ts); null: one is drawn. */
  readonly cover: string | null
  /** Its place where people choose: before those without one, which follow in the catalog's order. */
  readonly position: number | null
  /** The operator's choice where no model is named; at most one has it. */
  readonly isDefault: boolean
}

export const MAX_DESCRIPTION = 200

/**
 * Reads the catalog as it is now. With the revision that a caller's look-up has just read, a version that was read at the
 * same revision is not read again.
 */
export interface ModelStore {
  find(id: number, revision?: string | null): Promise<ModelVersion | undefined>
  findByCreateImageModel(model: string, revision?: string | null): Promise<ModelVersion | undefined>
  /** Enabled versions, sorted by lower(model_name), lower(name), id. */
  listEnabled(): Promise<ModelVersion[]>
  /** What is drawn with where no model is named (`defaultOf`); undefined while none is on offer. */
  findDefault(): Promise<ModelVersion | undefined>
}

/**
 * The names of model versions for clients that want a readable one: the Create Image model ID, else model and version as
 * in `pony-diffusion-v6-xl`. A name that an older version has already leaves the ID.
 */
export function readableNames(models: readonly ModelVersion[]): Map<string, ModelVersion> {
  const named = new Map<string, ModelVersion>()
  for (const model of models) if (model.createImageModel !== null) named.set(model.createImageModel, model)
  const others = models.filter(({ createImageModel }) => createImageModel === null)
  for (const model of others.sort((a, b) => a.id - b.id)) {
    const name = hyphenated(`${model.modelName} ${model.name}`)
    named.set(/\D/.test(name) && !named.has(name) ? name : `${model.id}`, model)
  }
  return named
}

/** `Pony Diffusion V6 XL` as `pony-diffusion-v6-xl`. */
export const hyphenated = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}.]+/gu, '-')
    .replace(/^-|-$/g, '')

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

/** @param models in the catalog's order @returns them as people choose from them */
export const inPlace = (models: readonly ModelVersion[]): ModelVersion[] => {
  const placeOf = ({ position }: ModelVersion) => position ?? Number.POSITIVE_INFINITY
  // Two infinities differ by NaN, and stay in their order.
  return models.toSorted((a, b) => placeOf(a) - placeOf(b) || 0)
}

const ORDER: readonly string[] = CREATE_IMAGE_MODELS

/**
 * What is drawn with where no model is named: the operator's choice, else the first that Create Image serves, else the
 * first on offer, but no NSFW model before another. One that can be drawn with now goes before all that cannot.
 * @param enabled in the catalog's order
 * @param served the IDs of those that a GPU server has now
 * @param chosen the operator's choice by a variable, which may be of no version that is on offer; one that the console has
 * made goes before it
 */
export function defaultOf(
  enabled: readonly ModelVersion[],
  served: readonly number[],
  chosen: number | undefined,
): ModelVersion | undefined {
  const choice = enabled.find(({ isDefault }) => isDefault)?.id ?? chosen
  const rankOf = ({ id, nsfw, createImageModel }: ModelVersion) => {
    const place = createImageModel === null ? -1 : ORDER.indexOf(createImageModel)
    return (
      (served.includes(id) ? 0 : 1000) +
      (id === choice ? 0 : 100 + (nsfw ? 50 : 0) + (place < 0 ? ORDER.length : place))
    )
  }
  return enabled.toSorted((a, b) => rankOf(a) - rankOf(b))[0]
}

const checkpoint = (
  id: number,
  modelName: string,
  name: string,
  baseModel: string,
  filename: string,
  more: Partial<Pick<ModelVersion, 'nsfw' | 'createImageModel'>> = {},
): ModelVersion => ({
  id,
  name,
  modelName,
  baseModel,
  type: 'Checkpoint',
  filename,
  coverImage: null,
  nsfw: false,
  enabled: true,
  creditsPerImage: 1,
  pricing: null,
  parameters: null,
  createImageModel: null,
  ...{ description: null, cover: null, position: null, isDefault: false },
  ...more,
})

/** What `migrate` puts into an empty catalog: the six Create Image models and a few SDXL-type checkpoints, ids 1 to 99. */
export const SEED_MODELS: readonly ModelVersion[] = [
  checkpoint(1, 'NoobAI-XL', 'v1.1', 'NoobAI', 'noobaiXL_v11.safetensors', { createImageModel: 'noobai-xl' }),
  checkpoint(2, 'DucHaiten', 'v5', 'Pony', 'duchaiten_v5.safetensors', { createImageModel: 'duchaiten' }),
  checkpoint(3, 'DucHaiten Real', 'v4', 'Pony', 'duchaitenReal_v4.safetensors', { createImageModel: 'duchaiten-real' }),
  checkpoint(4, 'Hassaku Illustrious', 'v2.1', 'Illustrious', 'hassakuIllustrious_v21.safetensors', {
    createImageModel: 'hassaku-illustrious',
  }),
  checkpoint(5, 'WAI NSFW Illustrious', 'v14', 'Illustrious', 'waiNSFWIllustrious_v140.safetensors', {
    nsfw: true,
    createImageModel: 'wai-nsfw-illustrious',
  }),
  checkpoint(6, 'Plant Milk', 'Walnut', 'Illustrious', 'plantMilk_walnut.safetensors', {
    createImageModel: 'plant-milk',
  }),
  checkpoint(10, 'Pony Diffusion', 'V6 XL', 'Pony', 'ponyDiffusionV6XL.safetensors'),
  checkpoint(11, 'Illustrious XL', 'v1.0', 'Illustrious', 'illustriousXL_v10.safetensors'),
  checkpoint(12, 'Animagine XL', '4.0', 'SDXL 1.0', 'animagineXL_40.safetensors'),
  checkpoint(13, 'Stable Diffusion XL', '1.0', 'SDXL 1.0', 'sd_xl_base_1.0.safetensors'),
]
