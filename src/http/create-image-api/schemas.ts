/** Spec 4.6: its own names, defaults and bounds. */
import { z } from 'zod'
import type { GenerationRequest } from '../../generation/generation.js'
import {
  CANVAS_ISSUE,
  choice,
  fitsCanvas,
  integer,
  NOT_AN_OBJECT,
  negativePromptField,
  number,
  optional,
  promptField,
  seedField,
  side,
} from '../fields.js'
import { CREATE_IMAGE_MODELS, CREATE_IMAGE_SAMPLERS, samplerOf } from './presets.js'

export interface CreateImageBody {
  readonly model: (typeof CREATE_IMAGE_MODELS)[number]
  readonly request: GenerationRequest
  /** Where the end is told; the answer does not wait for it then. */
  readonly webhookUrl?: string
}

export const createImageModel = choice('model', CREATE_IMAGE_MODELS)

/** What a request may ask for, where it is less than the Personal Access API takes. */
export const LIMITS = { steps: { min: 20, max: 50 }, cfg_scale: { min: 1, max: 20 } } as const

/** What a request that leaves them out asks for. */
export const DEFAULTS = {
  negative_prompt: '',
  model: 'noobai-xl',
  steps: 28,
  cfg_scale: 7,
  width: 832,
  height: 1216,
  sampler: 'dpm-2m-karras',
} as const

/** What to draw and how, but for the size. */
export const drawingFields = {
  prompt: promptField,
  negative_prompt: optional(negativePromptField, DEFAULTS.negative_prompt),
  steps: optional(integer('steps', LIMITS.steps.min, LIMITS.steps.max), DEFAULTS.steps),
  cfg_scale: optional(number('cfg_scale', LIMITS.cfg_scale.min, LIMITS.cfg_scale.max), DEFAULTS.cfg_scale),
  sampler: optional(choice('sampler', CREATE_IMAGE_SAMPLERS), DEFAULTS.sampler),
  seed: seedField,
}

/** A body of this scope as the core's request. */
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
      model: optional(createImageModel, DEFAULTS.model),
      width: optional(side('width'), DEFAULTS.width),
      height: optional(side('height'), DEFAULTS.height),
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
