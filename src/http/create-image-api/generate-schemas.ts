import { z } from 'zod'
import { CREATE_IMAGE_MODELS, type ModelVersion, requireCreateImageModel } from '../../core/catalog/model-version.js'
import { invalidParameter } from '../../core/errors.js'
import type { GenerationRequest, Sampler } from '../../core/generations/generation.js'
import { LACKING, type ServableNow } from '../../core/generations/servable.js'
import type { Submitted } from '../../core/generations/submit/ports.js'
import { type AskedRequest, requestFor } from '../../core/generations/submit/requested.js'
import { createImageRefusals } from '../shared/error-bodies.js'
import * as field from '../shared/fields.js'
import * as drawing from '../shared/generation-fields.js'
import { idempotencyKeyHeader } from '../shared/idempotency-key.js'
import { coreOf, EXAMPLE, viewOf } from '../shared/responses.js'

/** The public names of models and samplers in spec 4.6, and what they stand for in the core. */
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
 * @throws not_found, model_unavailable, or invalid_request outside the model's limits, and where no live GPU server has
 *   the sampler for this model
 */
export async function requireUsableModel(
  abilities: ServableNow,
  name: string,
  found: ModelVersion | undefined,
  asked: AskedRequest,
): Promise<ModelVersion> {
  const model = requireCreateImageModel(found, name)
  const { sampler } = requestFor(model, asked).request
  if (model.parameters?.ignored?.includes('sampler')) return model
  if (await abilities.isSamplerUnavailable(model.filename, sampler))
    throw invalidParameter('sampler', withPublicSampler(LACKING.sampler.replace('%', sampler)))
  return model
}

/** The bounds of a request, for the defaults of models. */
export const INTERFACE_LIMITS = {
  steps: drawing.CREATE_IMAGE_LIMITS.steps,
  cfgScale: drawing.CREATE_IMAGE_LIMITS.cfg_scale,
}

/** What a request gets that leaves these out. */
export const DEFAULTS = {
  negative_prompt: '',
  model: 'noobai-xl',
  steps: 28,
  cfg_scale: 7,
  ...drawing.DEFAULT_SIZE,
  sampler: 'dpm-2m-karras',
} as const

/** What to draw and how, except for the size. */
export const drawingFields = {
  ...drawing.fields,
  steps: field.omittable(field.integer('steps', drawing.CREATE_IMAGE_LIMITS.steps), DEFAULTS.steps),
  cfg_scale: field.omittable(field.number('cfg_scale', drawing.CREATE_IMAGE_LIMITS.cfg_scale), DEFAULTS.cfg_scale),
  sampler: field.omittable(field.choice('sampler', CREATE_IMAGE_SAMPLERS), DEFAULTS.sampler),
  seed: drawing.seed,
}

const sizedFields = { ...drawingFields, ...drawing.size }

/** The fields of a body as the core's request. @param size what it is if left out */
export function askedOf(
  fields: z.output<z.ZodObject<typeof sizedFields>>,
  batchSize = 1,
  size: Pick<GenerationRequest, 'width' | 'height'> = drawing.DEFAULT_SIZE,
): AskedRequest {
  const { body, omitted } = drawing.completed(sizedFields, fields, { ...DEFAULTS, ...size })
  const request = { ...coreOf(sizedFields, body), batchSize, sampler: samplerOf[body.sampler] }
  return { request, omitted }
}

const createImageModel = field.choice('model', CREATE_IMAGE_MODELS)

export const createImageBody = field
  .body({
    ...drawingFields,
    model: field.withDefault(createImageModel, DEFAULTS.model),
    ...drawing.size,
    webhook_url: z.string('webhook_url must be a string.').nullish(),
  })
  .refine(...drawing.fitsCanvas)
  .transform(({ model, webhook_url: webhookUrl, ...fields }) => ({
    model,
    ...askedOf(fields),
    /** Receives the result; the answer does not wait for it then. */
    webhookUrl: webhookUrl ?? undefined,
  }))

export type CreateImageBody = z.output<typeof createImageBody>

const parameters = z.object({
  prompt: z.string(),
  model: createImageModel,
  steps: z.int(),
  cfg_scale: z.number(),
  width: z.int(),
  height: z.int(),
  seed: z.int().min(0).describe('The seed used'),
})

const createdData = z.object({
  image_id: z.string().describe('The slug: {base_url}/image/<image_id> shows the image'),
  url: z.string().describe('Permanent and public'),
  status: z.literal('completed'),
  parameters,
  created_at: z.iso.datetime(),
})

const queuedData = createdData.extend({
  image_id: z.string().describe('The slug that the image will have'),
  url: z.null().describe('Comes with the event image.completed'),
  status: z.literal('queued'),
})

const { prompt, seed } = EXAMPLE
const { model, steps, cfg_scale, width, height } = DEFAULTS
const EXAMPLE_DATA = {
  image_id: EXAMPLE.slug,
  url: EXAMPLE.imageUrl,
  status: 'completed',
  parameters: { prompt, model, steps, cfg_scale, width, height, seed },
  created_at: EXAMPLE.submittedAt,
} as const

const createdImage = z
  .object({ success: z.literal(true), data: createdData })
  .meta({ id: 'CreatedImage', examples: [{ success: true, data: EXAMPLE_DATA }] })

const queuedImage = z
  .object({ success: z.literal(true), data: queuedData })
  .meta({ id: 'QueuedImage', examples: [{ success: true, data: { ...EXAMPLE_DATA, url: null, status: 'queued' } }] })

/** What an answer repeats of its request; the rest is the model's to say. */
interface Repeated {
  readonly model: CreateImageBody['model']
  readonly request: Pick<GenerationRequest, 'prompt'>
}
type DrawnWith = Pick<Submitted, 'seed' | 'steps' | 'cfgScale' | 'width' | 'height'>

const parametersView = ({ model, request: { prompt } }: Repeated, drawnWith: DrawnWith) =>
  viewOf(parameters, { ...drawnWith, prompt, model })

/** The answer when the image is stored. */
export const createdView = (
  { createdAt, ...submitted }: DrawnWith & Pick<Submitted, 'createdAt'>,
  imageId: string,
  url: string,
  asked: Repeated,
): z.output<typeof createdImage> => ({
  success: true,
  data: viewOf(createdData, {
    imageId,
    url,
    status: 'completed',
    createdAt,
    parameters: parametersView(asked, submitted),
  }),
})

/** The answer to a request with a webhook_url, even if it repeats an earlier one whose image is stored already. */
export function queuedView(
  { slugs, createdAt, ...submitted }: Submitted,
  asked: Repeated,
): z.output<typeof queuedImage> {
  const imageId = slugs[0] as string
  const view = {
    imageId,
    url: null,
    status: 'queued',
    createdAt,
    parameters: parametersView(asked, submitted),
  } as const
  return { success: true, data: viewOf(queuedData, view) }
}

export const createImageSchema = {
  operationId: 'createImage',
  tags: ['Create Image'],
  summary: 'Create one image',
  description:
    'Answers when the image is stored, within 120 s. With `webhook_url` it answers 202 at once; that URL is then told ' +
    '`image.completed` with the `data` of the 200, or `generation.failed`.',
  headers: idempotencyKeyHeader,
  body: createImageBody,
  response: {
    200: createdImage,
    202: queuedImage,
    ...createImageRefusals(400, 402, 404, 409, 413, 415, 422, 504),
  },
}
