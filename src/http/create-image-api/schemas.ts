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

export const createImageBody = z
  .strictObject(
    {
      prompt: promptField,
      negative_prompt: optional(negativePromptField, ''),
      model: optional(createImageModel, 'noobai-xl'),
      steps: optional(integer('steps', 20, 50), 28),
      cfg_scale: optional(number('cfg_scale', 1, 20), 7),
      width: optional(side('width'), 832),
      height: optional(side('height'), 1216),
      sampler: optional(choice('sampler', CREATE_IMAGE_SAMPLERS), 'dpm-2m-karras'),
      seed: seedField,
      webhook_url: z.string('webhook_url must be a string.').nullish(),
    },
    NOT_AN_OBJECT,
  )
  .refine(fitsCanvas, CANVAS_ISSUE)
  .transform(
    (body): CreateImageBody => ({
      model: body.model,
      ...(body.webhook_url && { webhookUrl: body.webhook_url }),
      request: {
        prompt: body.prompt,
        negativePrompt: body.negative_prompt,
        width: body.width,
        height: body.height,
        batchSize: 1,
        steps: body.steps,
        cfgScale: body.cfg_scale,
        sampler: samplerOf[body.sampler],
        seed: body.seed,
      },
    }),
  )
