/** The file of `easel models import`, and `easel models list --json`: JSON's names on one side, the catalog's on the other. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import {
  IGNORABLE_PARAMETERS,
  LIMITED_PARAMETERS,
  type ModelParameters,
  type Pricing,
  RATE_DECIMALS,
} from '../core/catalog/model-parameters.js'
import { CREATE_IMAGE_MODELS, type ModelVersion } from '../core/catalog/model-version.js'
import { MAX_PRICE } from '../core/operator/catalog.js'
import type { ImportedModel } from '../db/operator/catalog.js'
import { DEFAULTS, requestFields } from '../http/personal-api/generations/submit-schemas.js'
import { fitsCanvas } from '../http/shared/generation-fields.js'
import { camelCase, renamed, snakeCase } from '../lib/names.js'
import { isLine } from '../lib/text.js'
import { OperatorError } from './operator-error.js'

const ID = 'must be a whole number from 1'
const PRICE = `must be a whole number from 0 to ${MAX_PRICE}`
const RATE = `must be a number from 0 to ${MAX_PRICE} with at most ${RATE_DECIMALS} decimals`
const text = z.string('must be a text').refine((value) => isLine(value, 255), 'must be one line of 1 to 255 characters')
const flag = z.boolean('must be true or false')
const price = z.int(PRICE).min(0, PRICE).max(MAX_PRICE, PRICE)
const rate = z
  .number(RATE)
  .min(0, RATE)
  .max(MAX_PRICE, RATE)
  .refine((value) => Number(value.toFixed(RATE_DECIMALS)) === value, RATE)

const RANGED = LIMITED_PARAMETERS.map(snakeCase) as (keyof typeof requestFields)[]
const RANGE = 'must be {"min": …, "max": …} within what the API takes'
const range = (name: keyof typeof requestFields) =>
  z
    .strictObject({ min: z.number(RANGE), max: z.number(RANGE) }, RANGE)
    .refine(
      ({ min, max }) => min <= max && [min, max].every((end) => requestFields[name].safeParse(end).success),
      RANGE,
    )

const optional = ({ negative_prompt, width, height, batch_size, steps, cfg_scale, sampler }: typeof requestFields) => ({
  ...{ negative_prompt, width, height, batch_size, steps, cfg_scale, sampler },
})
const defaults = z
  .strictObject(optional(requestFields), 'must be an object of parameters of a request')
  .refine(...fitsCanvas)
const limits = z.strictObject(
  Object.fromEntries(RANGED.map((name) => [name, range(name).optional()])),
  'must be an object of ranges',
)
const IGNORABLE = IGNORABLE_PARAMETERS.map(snakeCase)
const IGNORED = `must be a list of ${IGNORABLE.join(', ')}`
const ignored = z.array(z.enum(IGNORABLE as [string, ...string[]], IGNORED), IGNORED)

const entry = z.strictObject({
  id: z.int(ID).min(1, ID),
  name: text,
  model_name: text,
  base_model: text,
  type: text,
  filename: text,
  cover_image: z.httpUrl('must be an http:// or https:// URL, or null').nullish(),
  nsfw: flag.optional(),
  enabled: flag.optional(),
  credits_per_image: price.optional(),
  credits_per_megapixel: rate.nullish(),
  credits_per_step: rate.nullish(),
  minimum_credits: price.nullish(),
  create_image_model: z.enum(CREATE_IMAGE_MODELS, `must be ${CREATE_IMAGE_MODELS.join(', ')}, or null`).nullish(),
  defaults: defaults.nullish(),
  limits: limits.nullish(),
  ignored: ignored.nullish(),
})
type Entry = z.output<typeof entry>

/** @throws OperatorError with one sentence that names the entry and the field */
export async function readModelFile(path: string): Promise<ImportedModel[]> {
  const content = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${path} can't be read (${error.code}): give the path of a JSON file.`)
  })
  const list = parseJson(path, content)
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of model versions.`)
  const models = list.map(toModel)
  requireDistinct('id', models, ({ id }) => id)
  requireDistinct('create_image_model', models, ({ createImageModel }) => createImageModel)
  return models
}

/** A model version as an entry of the file. */
export const toEntry = ({ pricing, parameters, ...model }: ModelVersion) => ({
  ...renamed(model, snakeCase),
  ...(pricing && {
    credits_per_megapixel: pricing.creditsPerMegapixel,
    credits_per_step: pricing.creditsPerStep,
    minimum_credits: pricing.minimum,
  }),
  ...(parameters && {
    defaults: parameters.defaults && renamed(parameters.defaults, snakeCase),
    limits: parameters.limits && renamed(parameters.limits, snakeCase),
    ignored: parameters.ignored?.map(snakeCase),
  }),
})

function parseJson(path: string, content: string): unknown {
  try {
    return JSON.parse(content.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new OperatorError(`${path} is not valid JSON: ${(error as Error).message}.`)
  }
}

function toModel(value: unknown, index: number): ImportedModel {
  const parsed = entry.safeParse(value)
  if (!parsed.success) throw new OperatorError(`Entry ${index + 1}: ${mistakeOf(parsed.error, value)}.`)
  const { credits_per_megapixel, credits_per_step, minimum_credits, defaults, limits, ignored, ...same } = parsed.data
  requireDefaultsWithinLimits(index, parsed.data)
  requireDefaultsOfIgnored(index, parsed.data)
  return {
    ...(renamed(same, camelCase) as unknown as ImportedModel),
    ...pricingOf(credits_per_megapixel, credits_per_step, minimum_credits),
    ...parametersOf({ defaults, limits, ignored }),
  }
}

/** Undefined fields keep what the catalog has; null takes it away. */
function pricingOf(megapixel: Rate, step: Rate, minimum: Rate): { pricing?: Pricing | null } {
  if ([megapixel, step, minimum].every((it) => it === undefined)) return {}
  const pricing = {
    ...(megapixel && { creditsPerMegapixel: megapixel }),
    ...(step && { creditsPerStep: step }),
    ...(minimum && { minimum }),
  }
  return { pricing: Object.keys(pricing).length > 0 ? pricing : null }
}
type Rate = number | null | undefined

function parametersOf({ defaults, limits, ignored }: Pick<Entry, 'defaults' | 'limits' | 'ignored'>): {
  parameters?: ModelParameters | null
} {
  if ([defaults, limits, ignored].every((it) => it === undefined)) return {}
  const given = Object.entries(defaults ?? {}).filter(([, value]) => value !== undefined)
  const parameters = {
    ...(given.length > 0 && { defaults: renamed(Object.fromEntries(given), camelCase) }),
    ...(limits && { limits: renamed(limits, camelCase) }),
    ...(ignored && ignored.length > 0 && { ignored: ignored.map(camelCase) }),
  } as ModelParameters
  return { parameters: Object.keys(parameters).length > 0 ? parameters : null }
}

function requireDefaultsWithinLimits(index: number, { defaults, limits }: Entry): void {
  for (const [name, range] of Object.entries(limits ?? {})) {
    const value = defaults?.[name as keyof typeof defaults] ?? DEFAULTS[name as keyof typeof DEFAULTS]
    if (!range || typeof value !== 'number' || (value >= range.min && value <= range.max)) continue
    throw new OperatorError(
      `Entry ${index + 1}: the default ${name} ${value} is outside its own limits, ${range.min} to ${range.max}.`,
    )
  }
}

function requireDefaultsOfIgnored(index: number, { defaults, ignored }: Entry): void {
  const missing = ignored?.find(
    (name) => name !== 'negative_prompt' && defaults?.[name as keyof typeof defaults] === undefined,
  )
  if (missing) throw new OperatorError(`Entry ${index + 1}: ${missing} is ignored, so defaults must say what it is.`)
}

function mistakeOf({ issues: [issue] }: z.ZodError, value: unknown): string {
  const path = issue?.path.join('.')
  if (issue?.code === 'unrecognized_keys') {
    const fields =
      path === '' ? Object.keys(entry.shape) : Object.keys(path === 'limits' ? limits.shape : defaults.shape)
    const unknown = issue.keys.map((key) => `"${key}"`).join(', ')
    return `unknown field ${unknown}${path && ` in ${path}`}; the fields are ${fields.join(', ')}`
  }
  const field = issue?.path[0]
  if (field === undefined) return 'must be a JSON object'
  if (!Object.hasOwn(value as object, field)) return `${String(field)} is missing`
  // The messages of a request's fields begin with the field's name and are whole sentences.
  return field === 'defaults' && issue && issue.path.length > 1
    ? `in defaults, ${issue.message.replace(/\.$/, '')}`
    : `${path} ${issue?.message}`
}

function requireDistinct(field: string, models: readonly ImportedModel[], of: (model: ImportedModel) => unknown): void {
  const values = models.map(of)
  for (const [index, value] of values.entries()) {
    const first = values.indexOf(value)
    if (value && first < index)
      throw new OperatorError(`Entries ${first + 1} and ${index + 1} have the same ${field}, ${value}.`)
  }
}
