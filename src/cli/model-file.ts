/** The file of `easel models import`, and `easel models list --json`: JSON's names on one side, the catalog's on the other. */
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { IGNORABLE_PARAMETERS, LIMITED_PARAMETERS, type ModelParameters } from '../core/catalog/model-parameters.js'
import { CREATE_IMAGE_MODELS, hyphenated, type ModelVersion } from '../core/catalog/model-version.js'
import { type Pricing, RATE_DECIMALS } from '../core/catalog/price.js'
import { MAX_PRICE } from '../core/operator/catalog.js'
import type { ImportedModel } from '../db/operator/catalog.js'
import { DEFAULTS, requestFields } from '../http/personal-api/generations/submit-schemas.js'
import { fitsCanvas } from '../http/shared/generation-fields.js'
import { type CheckpointDocument, checkpointOptions } from '../inference/checkpoint-options.js'
import { modelOfWorkflow } from '../inference/comfyui/workflow/workflow-definition.js'
import { WorkflowProblem } from '../inference/comfyui/workflow/workflow-graph.js'
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

/** @throws OperatorError with one sentence that names the entry and the field */
export async function readModelFile(path: string): Promise<ImportedModel[]> {
  const list = parseJson(path, await readText(path))
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of model versions.`)
  const models: ImportedModel[] = []
  for (const [index, value] of list.entries()) models.push(await toModel(value, index, dirname(path)))
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
    size_multiple: parameters.sizeMultiple,
    scale: parameters.scale,
  }),
})

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${path} can't be read (${error.code}): give the path of a JSON file.`)
  })

function parseJson(path: string, content: string): unknown {
  try {
    return JSON.parse(content.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new OperatorError(`${path} is not valid JSON: ${(error as Error).message}.`)
  }
}

/** @param folder of the file, from which a workflow's path begins */
async function toModel(value: unknown, index: number, folder: string): Promise<ImportedModel> {
  const at = `Entry ${index + 1}`
  const parsed = entry.safeParse(value)
  if (!parsed.success) throw new OperatorError(`${at}: ${mistakeOf(parsed.error, value)}.`)
  const { credits_per_megapixel, credits_per_step, minimum_credits, ...its } = parsed.data
  const { defaults, limits, ignored, size_multiple, scale, ...same } = its
  const { filename, workflow, workflow_file, allow_nodes, options, ...described } = same
  const model = await modelOf(at, its, folder)
  const own = { ...its, ...model?.parameters }
  requireDefaultsWithinLimits(at, own)
  requireDefaultsOfIgnored(at, own)
  return {
    ...(renamed(described, camelCase) as Omit<ImportedModel, 'filename' | 'definition'> & Pick<ImportedModel, 'id'>),
    ...(model ? { definition: model.definition } : { filename: filename as string }),
    ...pricingOf(credits_per_megapixel, credits_per_step, minimum_credits),
    ...parametersOf(own),
  } as ImportedModel
}

/** What an entry gets from its workflow or its options, before which goes what it says itself; undefined for a checkpoint. */
async function modelOf(at: string, its: Entry, folder: string) {
  const { filename, workflow, workflow_file, allow_nodes: allowNodes = [], options } = its
  if (workflow === undefined && workflow_file === undefined) {
    if (filename === undefined) throw new OperatorError(`${at}: filename is missing; a workflow_file can stand for it.`)
    const isDefinition = DEFINITION.test(filename)
    if (its.scale && (options || !isDefinition)) throw new OperatorError(`${at}: scale is for a workflow only.`)
    if (options && isDefinition)
      throw new OperatorError(`${at}: filename must be the checkpoint's, with which the options are drawn.`)
    return options && withOptions(filename, options)
  }
  if (options) throw new OperatorError(`${at}: it has options and a workflow; put them into the workflow.`)
  if (workflow !== undefined && workflow_file !== undefined)
    throw new OperatorError(`${at}: it has a workflow and a workflow_file; leave one of them out.`)
  const source = workflow ? JSON.stringify(workflow) : await readText(resolve(folder, workflow_file as string))
  try {
    const { document, parameters } = modelOfWorkflow(source, { allowNodes, scale: its.scale ?? undefined })
    const name = (filename ?? hyphenated(`${its.model_name} ${its.name}`)).replace(DEFINITION, '')
    return { definition: { name, document }, parameters: merged(at, its, parameters) }
  } catch (error) {
    throw error instanceof WorkflowProblem ? new OperatorError(`${at}: ${error.message}`) : error
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

/** A definition's file name ends in its revision. */
const DEFINITION = /@\d+$/

/** The workflow's parameters under the entry's. @throws OperatorError where the API does not take the workflow's own */
function merged(at: string, its: Entry, { defaults, ignored, sizeMultiple, scale }: ModelParameters) {
  const all = { ...renamed(defaults ?? {}, snakeCase), ...its.defaults }
  const unchosen = ignored?.includes('steps') && all.steps === undefined ? { steps: DEFAULTS.steps } : {}
  const checked = defaultParameters.safeParse({ ...all, ...unchosen })
  if (!checked.success)
    throw new OperatorError(
      `${at}: in the workflow, ${checked.error.issues[0]?.message.replace(/\.$/, '')}: say another one in defaults.`,
    )
  return {
    defaults: checked.data,
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

function requireDefaultsWithinLimits(at: string, { defaults, limits }: EntryParameters): void {
  for (const [name, range] of Object.entries(limits ?? {})) {
    const value = defaults?.[name as keyof typeof defaults] ?? DEFAULTS[name as keyof typeof DEFAULTS]
    if (!range || typeof value !== 'number' || (value >= range.min && value <= range.max)) continue
    throw new OperatorError(
      `${at}: the default ${name} ${value} is outside its own limits, ${range.min} to ${range.max}.`,
    )
  }
}

function requireDefaultsOfIgnored(at: string, { defaults, ignored }: EntryParameters): void {
  const missing = ignored?.find(
    (name) => name !== 'negative_prompt' && defaults?.[name as keyof typeof defaults] === undefined,
  )
  if (missing) throw new OperatorError(`${at}: ${missing} is ignored, so defaults must say what it is.`)
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

function requireDistinct(field: string, models: readonly ImportedModel[], of: (model: ImportedModel) => unknown): void {
  const values = models.map(of)
  for (const [index, value] of values.entries()) {
    const first = values.indexOf(value)
    if (value && first < index)
      throw new OperatorError(`Entries ${first + 1} and ${index + 1} have the same ${field}, ${value}.`)
  }
}
