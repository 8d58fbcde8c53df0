import { z } from 'zod'
import { defaultModelFor, isAllowedModel } from '../../../core/accounts/account.js'
import { IGNORABLE_PARAMETERS, LIMITED_PARAMETERS } from '../../../core/catalog/model-parameters.js'
import { CREATE_IMAGE_MODELS, type ModelStore, type ModelVersion } from '../../../core/catalog/model-version.js'
import { MAX_SEED, SAMPLERS, SIZE_STEP } from '../../../core/generations/generation.js'
import { MAX_PIXELS, maxPixelsOf } from '../../../core/generations/submit/requested.js'
import { singleFlight } from '../../../lib/batch.js'
import { renamed, snakeCase } from '../../../lib/names.js'
import * as createImage from '../../create-image-api/generate-schemas.js'
import { CREATE_IMAGE_SAMPLERS } from '../../create-image-api/generate-schemas.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import { notModified, sendTagged, taggedBody } from '../../shared/etag.js'
import type { App } from '../../shared/fastify-app.js'
import * as drawing from '../../shared/generation-fields.js'
import { CREATE_IMAGE_LIMITS, PERSONAL_LIMITS } from '../../shared/generation-fields.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { maxOf, type RateLimit } from '../../shared/rate-limit.js'
import { EXAMPLE, viewOf } from '../../shared/responses.js'
import { DEFAULTS } from '../generations/submit-schemas.js'

const modelVersion = z.object({
  id: z.int().min(1).describe('Goes into `model_version_id`'),
  name: z.string().describe("The version's name"),
  model_name: z.string(),
  base_model: z.string().describe('The architecture, such as "Pony" or "Illustrious"'),
  type: z.string().describe('Such as "Checkpoint"'),
  filename: z.string(),
  cover_image: z.string().nullable().describe('A URL'),
  nsfw: z.boolean(),
})

const EXAMPLE_MODEL = {
  id: EXAMPLE.model.model_version_id,
  name: 'v6',
  model_name: EXAMPLE.model.model_name,
  base_model: 'Pony',
  type: 'Checkpoint',
  filename: 'ponyDiffusionV6XL.safetensors',
  cover_image: null,
  nsfw: false,
}

const modelList = z
  .object({ models: z.array(modelVersion), count: z.int().min(0).describe('How many there are') })
  .meta({ id: 'ModelList', examples: [{ models: [EXAMPLE_MODEL], count: 1 }] })

const listModelsSchema = {
  operationId: 'listModels',
  tags: ['Generations'],
  summary: 'The model versions on offer',
  description: 'Sorted by the name of the model, then by that of the version.',
  response: { 200: modelList, 304: notModified, ...personalRefusals(412) },
}

/** The catalog, spec 4.2. */
export function modelRoutes(app: App, { models, coverUrl }: Pick<PersonalApiPorts, 'models' | 'coverUrl'>): void {
  // Concurrent requests share one read, so that none gets a catalog older than itself.
  const list = singleFlight(async () => {
    const enabled = await models.listEnabled()
    return taggedBody({
      models: enabled.map((model) => viewOf(modelVersion, { ...model, coverImage: coverUrl(model) })),
      count: enabled.length,
    })
  })
  app.get('/models', { schema: listModelsSchema }, async (request, reply) => sendTagged(request, reply, await list()))
}

/** The sizes that SDXL was trained on. */
const SDXL_SIZES = [
  [1024, 1024],
  [1152, 896],
  [896, 1152],
  [1216, 832],
  [832, 1216],
  [1344, 768],
  [768, 1344],
  [1536, 640],
  [640, 1536],
] as const

const range = z.object({ min: z.number(), max: z.number() })
/** One for each bound, so that a new one is listed by itself. */
const rangesOf = <Limits extends object>(limits: Limits) =>
  Object.fromEntries(Object.keys(limits).map((name) => [name, range])) as Record<keyof Limits, typeof range>
const sideRange = range.extend({ step: z.int().describe('Only multiples of it') })

const OPTIONAL = Object.keys(drawing.settings) as [keyof typeof drawing.settings]
const LIMITED = LIMITED_PARAMETERS.map(snakeCase) as ['width' | 'height' | keyof typeof PERSONAL_LIMITS]
const IGNORABLE = IGNORABLE_PARAMETERS.map(snakeCase) as ['negative_prompt' | 'steps' | 'cfg_scale' | 'sampler']

export const capableModel = z.object({
  model_version_id: z.int(),
  name: z.string(),
  model_name: z.string(),
  credits_per_image: z.int().min(0),
  pricing: z
    .object({
      credits_per_megapixel: z.number().min(0),
      credits_per_step: z.number().min(0),
      minimum_credits: z.int().min(0),
    })
    .nullable()
    .describe('Besides `credits_per_image`; together rounded up. `dry_run` tells the sum'),
  defaults: z.partialRecord(z.enum(OPTIONAL), z.union([z.string(), z.number()])).describe('Its own, where they differ'),
  limits: z.partialRecord(z.enum(LIMITED), range).describe('Its own, where narrower'),
  ignored: z.array(z.enum(IGNORABLE)).describe('Have no effect; `X-Ignored-Fields` names those sent'),
  size_multiple: z.int().describe('Widths and heights are multiples of it'),
  pixels: z.int().describe('Width × height at most'),
  scale: z.number().describe('Size of its images, divided by the one asked for'),
})

type Capable = z.output<typeof capableModel>

/** A model version as it is listed here. */
export function capableModelView(model: ModelVersion): Capable {
  const { pricing, parameters } = model
  return {
    ...viewOf(capableModel.pick({ model_version_id: true, name: true, model_name: true, credits_per_image: true }), {
      ...model,
      modelVersionId: model.id,
    }),
    pricing: pricing && {
      credits_per_megapixel: pricing.creditsPerMegapixel ?? 0,
      credits_per_step: pricing.creditsPerStep ?? 0,
      minimum_credits: pricing.minimum ?? 0,
    },
    defaults: renamed(parameters?.defaults ?? {}, snakeCase) as Capable['defaults'],
    limits: renamed(parameters?.limits ?? {}, snakeCase) as Capable['limits'],
    ignored: (parameters?.ignored ?? []).map(snakeCase) as Capable['ignored'],
    size_multiple: parameters?.sizeMultiple ?? SIZE_STEP,
    pixels: maxPixelsOf(parameters ?? {}),
    scale: parameters?.scale ?? 1,
  }
}

const capabilities = z
  .object({
    limits: z.object({
      prompt_length: z.int().describe('Unicode code points at most, of `negative_prompt`, too'),
      width: sideRange.describe('Pixels'),
      height: sideRange.describe('Pixels'),
      pixels: z.int().describe('width × height at most'),
      ...rangesOf(PERSONAL_LIMITS),
      seed: range.extend({ random: z.int().describe('Asks for a random one') }),
    }),
    defaults: z.object({
      ...drawing.settings,
      seed: z.int(),
      model_version_id: z.int().nullable().describe('Of the website'),
    }),
    samplers: z.array(drawing.settings.sampler),
    recommended_sizes: z.array(z.object({ width: z.int(), height: z.int() })).describe('What SDXL models draw best'),
    models: z.array(capableModel.extend({ in_plan: z.boolean() })),
    create_image: z
      .object({
        models: z.array(z.enum(CREATE_IMAGE_MODELS)),
        samplers: z.array(z.enum(CREATE_IMAGE_SAMPLERS)),
        limits: z.object(rangesOf(CREATE_IMAGE_LIMITS)),
        defaults: z.object({
          negative_prompt: z.string(),
          model: z.enum(CREATE_IMAGE_MODELS),
          steps: z.int(),
          cfg_scale: z.number(),
          width: z.int(),
          height: z.int(),
          sampler: z.enum(CREATE_IMAGE_SAMPLERS),
          seed: z.int(),
        }),
      })
      .describe('Of POST /v1/images/generate, where it differs'),
    rate_limit: z.object({ requests: z.int(), window_seconds: z.int() }).describe('In a sliding window'),
  })
  .meta({ id: 'Capabilities' })

const SIDES = { min: drawing.MIN_SIDE, max: drawing.MAX_SIDE, step: SIZE_STEP }

const getCapabilitiesSchema = {
  operationId: 'getCapabilities',
  tags: ['Account'],
  summary: 'What may be asked for',
  description: 'With the `in_plan` and `rate_limit` of your plan.',
  response: { 200: capabilities, 304: notModified, ...personalRefusals(412) },
}

/** Limits, defaults and prices as data: the same numbers that requests are checked against. */
export function capabilitiesRoutes(app: App, models: ModelStore, limit: RateLimit): void {
  app.get('/capabilities', { schema: getCapabilitiesSchema }, async (request, reply) => {
    const [enabled, usual] = await Promise.all([models.listEnabled(), models.findDefault()])
    const own = defaultModelFor(request.caller, enabled, usual)
    const body: z.output<typeof capabilities> = {
      limits: {
        prompt_length: drawing.MAX_PROMPT_LENGTH,
        width: SIDES,
        height: SIDES,
        pixels: MAX_PIXELS,
        ...PERSONAL_LIMITS,
        seed: { min: 0, max: MAX_SEED, random: drawing.RANDOM_SEED },
      },
      defaults: { ...DEFAULTS, seed: drawing.RANDOM_SEED, model_version_id: own?.id ?? null },
      samplers: [...SAMPLERS],
      recommended_sizes: SDXL_SIZES.map(([width, height]) => ({ width, height })),
      models: enabled.map((model) => ({
        ...capableModelView(model),
        in_plan: isAllowedModel(request.caller, model.id),
      })),
      create_image: {
        models: [...CREATE_IMAGE_MODELS],
        samplers: [...CREATE_IMAGE_SAMPLERS],
        limits: CREATE_IMAGE_LIMITS,
        defaults: { ...createImage.DEFAULTS, seed: drawing.RANDOM_SEED },
      },
      rate_limit: { requests: maxOf(request, limit.max), window_seconds: limit.windowSeconds },
    }
    return sendTagged(request, reply.header('cache-control', 'private, no-cache'), taggedBody(body))
  })
}
