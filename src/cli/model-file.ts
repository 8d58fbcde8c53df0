/** The file of `models import`: the wire's names on one side, the catalog's on the other. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { ModelVersion } from '../catalog/model-version.js'
import type { ImportedModel } from '../db/model-store.js'
import { CREATE_IMAGE_MODELS } from '../http/create-image-api/presets.js'
import { OperatorError } from './operator-error.js'

const ID = 'must be a whole number from 1'
const PRICE = 'must be a whole number from 0 to 1000000'
const text = z
  .string('must be a text')
  .refine(
    (value) => value.trim() !== '' && value.length <= 255 && !/\p{Cc}/u.test(value),
    'must be one line of 1 to 255 characters',
  )
const flag = z.boolean('must be true or false')

const entry = z.strictObject({
  id: z.int(ID).min(1, ID),
  name: text,
  model_name: text,
  base_model: text,
  type: text,
  filename: text,
  cover_image: z.httpUrl('must be an http:// or https:// URL, or null').nullable().optional(),
  nsfw: flag.optional(),
  enabled: flag.optional(),
  credits_per_image: z.int(PRICE).min(0, PRICE).max(1_000_000, PRICE).optional(),
  create_image_model: z
    .enum(CREATE_IMAGE_MODELS, `must be ${CREATE_IMAGE_MODELS.join(', ')}, or null`)
    .nullable()
    .optional(),
})

/** @throws OperatorError with one sentence that names the entry and the field */
export async function readModelFile(path: string): Promise<ImportedModel[]> {
  const content = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${path} can't be read (${error.code}): give the path of a JSON file.`)
  })
  const list = jsonOf(path, content)
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of model versions.`)
  const models = list.map(toModel)
  requireDistinct(models, 'id', ({ id }) => id)
  requireDistinct(models, 'create_image_model', ({ createImageModel }) => createImageModel ?? undefined)
  return models
}

function jsonOf(path: string, content: string): unknown {
  try {
    return JSON.parse(content.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new OperatorError(`${path} is not valid JSON: ${(error as Error).message}.`)
  }
}

function toModel(value: unknown, index: number): ImportedModel {
  const parsed = entry.safeParse(value)
  if (!parsed.success) throw new OperatorError(`Entry ${index + 1}: ${mistakeOf(parsed.error, value)}.`)
  const { model_name, base_model, cover_image, credits_per_image, create_image_model, nsfw, enabled, ...same } =
    parsed.data
  return {
    ...same,
    modelName: model_name,
    baseModel: base_model,
    ...(cover_image !== undefined && { coverImage: cover_image }),
    ...(nsfw !== undefined && { nsfw }),
    ...(enabled !== undefined && { enabled }),
    ...(credits_per_image !== undefined && { creditsPerImage: credits_per_image }),
    ...(create_image_model !== undefined && { createImageModel: create_image_model }),
  }
}

function mistakeOf({ issues: [issue] }: z.ZodError, value: unknown): string {
  if (issue?.code === 'unrecognized_keys') {
    return `unknown field ${issue.keys.map((key) => `"${key}"`).join(', ')}; the fields are ${Object.keys(entry.shape).join(', ')}`
  }
  const field = issue?.path[0]
  if (field === undefined) return 'must be a JSON object'
  return Object.hasOwn(value as object, field) ? `${String(field)} ${issue?.message}` : `${String(field)} is missing`
}

function requireDistinct(models: readonly ImportedModel[], field: string, of: (model: ImportedModel) => unknown): void {
  const seen = new Map<unknown, number>()
  for (const [index, model] of models.entries()) {
    const value = of(model)
    const first = value === undefined ? undefined : seen.get(value)
    if (first !== undefined) {
      throw new OperatorError(`Entries ${first + 1} and ${index + 1} have the same ${field}, ${value}.`)
    }
    seen.set(value, index)
  }
}

/** What `models list` shows can be imported again. */
export const modelJson = (model: ModelVersion) => ({
  id: model.id,
  name: model.name,
  model_name: model.modelName,
  base_model: model.baseModel,
  type: model.type,
  filename: model.filename,
  cover_image: model.coverImage,
  nsfw: model.nsfw,
  enabled: model.enabled,
  credits_per_image: model.creditsPerImage,
  create_image_model: model.createImageModel,
})
