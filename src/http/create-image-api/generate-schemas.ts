import { z } from 'zod'
import type { GenerationRequest } from '../../generation/generation.js'
import type { Submitted } from '../../generation/submit/submission.js'
import { createImageRefusals } from '../error-bodies.js'
import {
  CANVAS_ISSUE,
  choice,
  fitsCanvas,
  integer,
  NOT_AN_OBJECT,
  negativePromptField,
  number,
  promptField,
  seedField,
  side,
  withDefault,
} from '../fields.js'
import { idempotencyKeyHeader } from '../idempotency-key.js'
import { CREATE_IMAGE_MODELS, CREATE_IMAGE_SAMPLERS, samplerOf } from './presets.js'

export interface CreateImageBody {
  readonly model: (typeof CREATE_IMAGE_MODELS)[number]
  readonly request: GenerationRequest
  /** Receives the result; the answer does not wait for it then. */
  readonly webhookUrl?: string
}

const createImageModel = choice('model', CREATE_IMAGE_MODELS)

/** The bounds of a request, where they are narrower than those of the Personal Access API. */
export const LIMITS = { steps: { min: 20, max: 50 }, cfg_scale: { min: 1, max: 20 } } as const

/** What a request gets that leaves these out. */
export const DEFAULTS = {
  negative_prompt: '',
  model: 'noobai-xl',
  steps: 28,
  cfg_scale: 7,
  width: 832,
  height: 1216,
  sampler: 'dpm-2m-karras',
} as const

/** What to draw and how, except for the size. */
export const drawingFields = {
  prompt: promptField,
  negative_prompt: withDefault(negativePromptField, DEFAULTS.negative_prompt),
  steps: withDefault(integer('steps', LIMITS.steps.min, LIMITS.steps.max), DEFAULTS.steps),
  cfg_scale: withDefault(number('cfg_scale', LIMITS.cfg_scale.min, LIMITS.cfg_scale.max), DEFAULTS.cfg_scale),
  sampler: withDefault(choice('sampler', CREATE_IMAGE_SAMPLERS), DEFAULTS.sampler),
  seed: seedField,
}

/** The fields of a body as the core's request. */
export const requestOf = (
  body: z.output<z.ZodObject<typeof drawingFields>>,
  size: Pick<GenerationRequest, 'width' | 'height' | 'batchSize'>,
): GenerationRequest => ({
  prompt: body.prompt,
  negativePrompt: body.negative_prompt,
  ...size,
  steps: body.steps,
  cfgScale: body.cfg_scale,
  sampler: samplerOf[body.sampler],
  seed: body.seed,
})

export const createImageBody = z
  .strictObject(
    {
      ...drawingFields,
      model: withDefault(createImageModel, DEFAULTS.model),
      width: withDefault(side('width'), DEFAULTS.width),
      height: withDefault(side('height'), DEFAULTS.height),
      webhook_url: z.string('webhook_url must be a string.').nullish(),
    },
    NOT_AN_OBJECT,
  )
  .refine(fitsCanvas, CANVAS_ISSUE)
  .transform(
    (body): CreateImageBody => ({
      model: body.model,
      request: requestOf(body, { width: body.width, height: body.height, batchSize: 1 }),
      ...(typeof body.webhook_url === 'string' && { webhookUrl: body.webhook_url }),
    }),
  )

const parameters = z.object({
  prompt: z.string(),
  model: createImageModel,
  steps: z.int(),
  cfg_scale: z.number(),
  width: z.int(),
  height: z.int(),
  seed: z.int().min(0).describe('The seed used'),
})

const EXAMPLE = {
  image_id: 'Zk3vQ9xT1bN7mR4wY8cL2s',
  url: 'https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png',
  status: 'completed',
  parameters: {
    prompt: 'a lighthouse at dusk',
    model: 'noobai-xl',
    steps: 28,
    cfg_scale: 7,
    width: 832,
    height: 1216,
    seed: 1803774619,
  },
  created_at: '2026-11-20T21:04:11.062Z',
} as const

const imageAnswer = <U extends z.ZodType, const S extends string>(imageId: string, url: U, status: S) =>
  z.object({
    success: z.literal(true),
    data: z.object({
      image_id: z.string().describe(imageId),
      url,
      status: z.literal(status),
      parameters,
      created_at: z.iso.datetime(),
    }),
  })

const createdImage = imageAnswer(
  'The slug: {base_url}/image/<image_id> shows the image',
  z.string().describe('Permanent and public'),
  'completed',
).meta({ id: 'CreatedImage', examples: [{ success: true, data: EXAMPLE }] })

const queuedImage = imageAnswer(
  'The slug that the image will have',
  z.null().describe('Comes with the event image.completed'),
  'queued',
).meta({ id: 'QueuedImage', examples: [{ success: true, data: { ...EXAMPLE, url: null, status: 'queued' } }] })

/** What an answer repeats of its request. */
interface Repeated {
  readonly model: CreateImageBody['model']
  readonly request: Pick<GenerationRequest, 'prompt' | 'steps' | 'cfgScale' | 'width' | 'height'>
}

const parametersView = ({ model, request }: Repeated, seed: number): z.output<typeof parameters> => ({
  prompt: request.prompt,
  model,
  steps: request.steps,
  cfg_scale: request.cfgScale,
  width: request.width,
  height: request.height,
  seed,
})

/** The answer when the image is stored. */
export const createdView = (
  { seed, createdAt }: Pick<Submitted, 'seed' | 'createdAt'>,
  slug: string,
  url: string,
  body: Repeated,
): z.output<typeof createdImage> => ({
  success: true,
  data: {
    image_id: slug,
    url,
    status: 'completed',
    parameters: parametersView(body, seed),
    created_at: createdAt.toISOString(),
  },
})

/** The answer to a request with a webhook_url, even if it repeats an earlier one whose image is stored already. */
export const queuedView = ({ seed, slugs, createdAt }: Submitted, body: Repeated): z.output<typeof queuedImage> => ({
  success: true,
  data: {
    image_id: slugs[0] as string,
    url: null,
    status: 'queued',
    parameters: parametersView(body, seed),
    created_at: createdAt.toISOString(),
  },
})

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
    ...createImageRefusals(400, 402, 403, 404, 409, 413, 415, 422, 504),
  },
}
