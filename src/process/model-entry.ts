/** An entry of an import of model versions: JSON's names on one side, the catalog's on the other. */
import { z } from 'zod'
import { isDefinition, withoutRevision } from '../core/catalog/model-definition.js'
import { IGNORABLE_PARAMETERS, LIMITED_PARAMETERS, type ModelParameters } from '../core/catalog/model-parameters.js'
import { CREATE_IMAGE_MODELS, hyphenated, MAX_DESCRIPTION, type ModelVersion } from '../core/catalog/model-version.js'
import { type Pricing, RATE_DECIMALS } from '../core/catalog/price.js'
import { AppError } from '../core/errors.js'
import { maxPixelsOf } from '../core/generations/submit/requested.js'
import type { ImportedModel } from '../core/operator/catalog.js'
import { MAX_PRICE } from '../core/operator/catalog.js'
import type { ServedModel } from '../core/operator/serving.js'
import { DEFAULTS, requestFields } from '../http/personal-api/generations/submit-schemas.js'
import { requireDistinct } from '../http/shared/entries.js'
import { fitsCanvas } from '../http/shared/generation-fields.js'
import { type CheckpointDocument, checkpointOptions } from '../inference/checkpoint-options.js'
import { modelOfWorkflow } from '../inference/comfyui/workflow/workflow-definition.js'
import { camelCase, renamed, snakeCase } from '../lib/names.js'
import { isLine } from '../lib/text.js'
import { limitsWithinApi } from './node-limits.js'
import { workflowProblem } from './workflow-report.js'

const ID = 'must be a whole number from 1'
const PRICE = `must be a whole number from 0 to ${MAX_PRICE}`
const RATE = `must be a number from 0 to ${MAX_PRICE} with at most ${RATE_DECIMALS} decimals`
const text = z.string('must be a text').refine((value) => isLine(value, 255), 'must be one line of 1 to 255 characters')
const DESCRIPTION = `must be one line of 1 to ${MAX_DESCRIPTION} characters, or null`
const line = z.string(DESCRIPTION).refine((value) => isLine(value, MAX_DESCRIPTION), DESCRIPTION)
const POSITION = 'must be a whole number from 1 to 1000000, or null'
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
const defaultParameters = z
  .strictObject(optional(requestFields), 'must be an object of parameters of a request')
  .refine(...fitsCanvas)
const limits = z.strictObject(
  Object.fromEntries(RANGED.map((name) => [name, range(name).optional()])),
  'must be an object of ranges',
)
const SCALE = 'must be a number from 0.125 to 8'
const IGNORABLE = IGNORABLE_PARAMETERS.map(snakeCase)
const IGNORED = `must be a list of ${IGNORABLE.join(', ')}`
const ignored = z.array(z.enum(IGNORABLE as [string, ...string[]], IGNORED), IGNORED)

const entry = z.strictObject({
  id: z.int(ID).min(1, ID),
  name: text,
  model_name: text,
  base_model: text,
  type: text,
  filename: text.optional(),
  workflow: z.record(z.string(), z.unknown(), 'must be the object that ComfyUI exports').optional(),
  workflow_file: text.optional(),
  allow_nodes: z.array(text, 'must be a list of node classes').optional(),
  options: checkpointOptions.optional(),
  description: line.nullish(),
  position: z.int(POSITION).min(1, POSITION).max(1_000_000, POSITION).nullish(),
  cover_image: z.httpUrl('must be an http:// or https:// URL, or null').nullish(),
  nsfw: flag.optional(),
  enabled: flag.optional(),
  credits_per_image: price.optional(),
  credits_per_megapixel: rate.nullish(),
  credits_per_step: rate.nullish(),
  minimum_credits: price.nullish(),
  create_image_model: z.enum(CREATE_IMAGE_MODELS, `must be ${CREATE_IMAGE_MODELS.join(', ')}, or null`).nullish(),
  defaults: defaultParameters.nullish(),
  limits: limits.nullish(),
  ignored: ignored.nullish(),
  size_multiple: z.literal([8, 16, 32, 64], 'must be 8, 16, 32 or 64').nullish(),
  scale: z.number(SCALE).min(0.125, SCALE).max(8, SCALE).nullish(),
})
type Entry = z.output<typeof entry>

/** @throws invalid_request */
export function requireDistinctModels(models: readonly ImportedModel[]): void {
  requireDistinct('id', models, ({ id }) => id)
  requireDistinct('create_image_model', models, ({ createImageModel }) => createImageModel)
}

const withoutOwn = ({ cover: _, isDefault: __, ...model }: Partial<ModelVersion>) => model

/** A model version as an entry. Its cover and whether it is the default belong to this installation. */
export const toEntry = ({ pricing, parameters, description, position, ...version }: ModelVersion) => ({
  ...renamed(withoutOwn(version), snakeCase),
  // Left out where there is none: a release before does not know them.
  ...(description !== null && { description }),
  ...(position !== null && { position }),
  ...(pricing && {
    credits_per_megapixel: pricing.creditsPerMegapixel,
    credits_per_step: pricing.creditsPerStep,
    minimum_credits: pricing.minimum,
  }),
  ...(parameters && {
    defaults: parameters.defaults && renamed(parameters.defaults, snakeCase),
    limits: parameters.limits && renamed(parameters.limits, snakeCase),
    ignored: parameters.ignored?.map(snakeCase),
    size_multiple: parameters.sizeMultiple,
    scale: parameters.scale,
  }),
})

/** The same with who serves it, which is nothing to import. */
export const toServedEntry = ({ model, servedBy, notServed }: ServedModel) => ({
  ...toEntry(model),
  served_by: servedBy,
  not_served: notServed,
})

/** What a list of versions says of the GPU servers, which is nothing to import. */
function withoutServing(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { served_by: _, not_served: __, ...given } = value as Record<string, unknown>
  return given
}

const refusal = (sentence: string) => new AppError('invalid_request', sentence)

/**
 * @param readWorkflow of the path that an entry names: the file's text
 * @throws invalid_request with one sentence that names the field
 */
export async function modelOfEntry(
  value: unknown,
  readWorkflow: (path: string) => Promise<string>,
): Promise<ImportedModel> {
  const given = withoutServing(value)
  const parsed = entry.safeParse(given)
  if (!parsed.success) throw refusal(`${mistakeOf(parsed.error, given)}.`)
  const { credits_per_megapixel, credits_per_step, minimum_credits, ...its } = parsed.data
  const { defaults, limits, ignored, size_multiple, scale, ...same } = its
  const { filename, workflow, workflow_file, allow_nodes, options, ...described } = same
  const model = await modelOf(its, readWorkflow)
  const own = { ...its, ...model?.parameters }
  requireDefaultsWithinLimits(own)
  requireDefaultsOfIgnored(own)
  requireDefaultSize(own)
  return {
    ...(renamed(described, camelCase) as Omit<ImportedModel, 'filename' | 'definition'> & Pick<ImportedModel, 'id'>),
    ...(model ? { definition: model.definition } : { filename: filename as string }),
    ...pricingOf(credits_per_megapixel, credits_per_step, minimum_credits),
    ...parametersOf(own),
  } as ImportedModel
}

/** Why an import would refuse an entry with that workflow; undefined where it takes it. */
export async function refusalOf(entry: object, source: string): Promise<string | undefined> {
  try {
    await modelOfEntry(entry, async () => source)
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

/** What an entry gets from its workflow or its options, before which goes what it says itself; undefined for a checkpoint. */
async function modelOf(its: Entry, readWorkflow: (path: string) => Promise<string>) {
  const { filename, workflow, workflow_file, allow_nodes: allowNodes = [], options } = its
  if (workflow === undefined && workflow_file === undefined) {
    if (filename === undefined) throw refusal('filename is missing; a workflow_file can stand for it.')
    if (its.scale && (options || !isDefinition(filename))) throw refusal('scale is for a workflow only.')
    if (options && isDefinition(filename))
      throw refusal("filename must be the checkpoint's, with which the options are drawn.")
    return options && withOptions(filename, options)
  }
  if (options) throw refusal('It has options and a workflow: put them into the workflow.')
  if (workflow !== undefined && workflow_file !== undefined)
    throw refusal('It has a workflow and a workflow_file: leave one of them out.')
  const source = workflow ? JSON.stringify(workflow) : await readWorkflow(workflow_file as string)
  try {
    const { document, parameters } = modelOfWorkflow(source, { allowNodes, scale: its.scale ?? undefined })
    const usual = hyphenated(`${its.model_name} ${its.name}`) || `workflow-${its.id}`
    const name = withoutRevision(filename ?? usual)
    return { definition: { name, document }, parameters: merged(its, parameters) }
  } catch (error) {
    throw workflowProblem(error)
  }
}

/** What an entry gets from its options: they say all, so that its images are larger only if they do. */
function withOptions(checkpoint: string, options: CheckpointDocument['options']) {
  const document: CheckpointDocument = { kind: 'checkpoint', checkpoint, options }
  return {
    definition: { name: checkpoint.replace(/\.[^./\\]+$/, ''), document: JSON.stringify(document) },
    parameters: { scale: options.hires?.scale ?? null },
  }
}

/** The workflow's parameters under the entry's. @throws invalid_request where the API does not take the workflow's own */
function merged(its: Entry, { defaults, limits, ignored, sizeMultiple, scale }: ModelParameters) {
  const own = limitsWithinApi(limits ?? {})
  const all = { ...renamed(defaults ?? {}, snakeCase), ...its.defaults }
  const unchosen = ignored?.includes('steps') && all.steps === undefined ? { steps: DEFAULTS.steps } : {}
  const checked = defaultParameters.safeParse({ ...all, ...unchosen })
  if (!checked.success)
    throw refusal(
      `In the workflow, ${checked.error.issues[0]?.message.replace(/\.$/, '')}: change it in ComfyUI and export it again, or say another one in the defaults of an import.`,
    )
  return {
    defaults: checked.data,
    limits: own && its.limits !== null ? { ...own, ...its.limits } : its.limits,
    ignored: [...new Set([...(ignored ?? []).map(snakeCase), ...(its.ignored ?? [])])],
    size_multiple: its.size_multiple ?? (sizeMultiple as 16 | 32 | undefined),
    scale,
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

type EntryParameters = Pick<Entry, 'defaults' | 'limits' | 'ignored' | 'size_multiple' | 'scale'>

function parametersOf(its: EntryParameters): { parameters?: ModelParameters | null } {
  const { defaults, limits, ignored, size_multiple: sizeMultiple, scale } = its
  if ([defaults, limits, ignored, sizeMultiple, scale].every((it) => it === undefined)) return {}
  const given = Object.entries(defaults ?? {}).filter(([, value]) => value !== undefined)
  const parameters = {
    ...(given.length > 0 && { defaults: renamed(Object.fromEntries(given), camelCase) }),
    ...(limits && { limits: renamed(limits, camelCase) }),
    ...(ignored && ignored.length > 0 && { ignored: ignored.map(camelCase) }),
    ...(sizeMultiple && { sizeMultiple }),
    ...(scale && scale !== 1 && { scale }),
  } as ModelParameters
  return { parameters: Object.keys(parameters).length > 0 ? parameters : null }
}

function requireDefaultsWithinLimits({ defaults, limits }: EntryParameters): void {
  for (const [name, range] of Object.entries(limits ?? {})) {
    const value = defaults?.[name as keyof typeof defaults] ?? DEFAULTS[name as keyof typeof DEFAULTS]
    if (!range || typeof value !== 'number' || (value >= range.min && value <= range.max)) continue
    throw refusal(`The default ${name} ${value} is outside its own limits, ${range.min} to ${range.max}.`)
  }
}

function requireDefaultsOfIgnored({ defaults, ignored }: EntryParameters): void {
  const missing = ignored?.find(
    (name) => name !== 'negative_prompt' && defaults?.[name as keyof typeof defaults] === undefined,
  )
  if (missing) throw refusal(`${missing} is ignored, so defaults must say what it is.`)
}

/** An enlarged image of the default size is one that may be drawn. */
function requireDefaultSize({ defaults, scale }: EntryParameters): void {
  const { width = DEFAULTS.width, height = DEFAULTS.height } = defaults ?? {}
  const maxPixels = maxPixelsOf({ scale: scale ?? 1 })
  if (width * height > maxPixels)
    throw refusal(
      `The default size ${width} × ${height} is too large for images that are ${scale} times as wide and as high: width × height must be at most ${maxPixels}.`,
    )
}

const SHAPES = new Map<string, object>([
  ['', entry.shape],
  ['limits', limits.shape],
  ['defaults', defaultParameters.shape],
  ['options', checkpointOptions.shape],
])

function mistakeOf({ issues: [issue] }: z.ZodError, value: unknown): string {
  const path = issue?.path.join('.') ?? ''
  const shape = SHAPES.get(path)
  if (issue?.code === 'unrecognized_keys' && shape) {
    const fields = Object.keys(shape)
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
