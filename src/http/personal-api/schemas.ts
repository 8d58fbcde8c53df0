/** Spec 4.3: wire names, defaults and bounds on one side, the core's request on the other. */
import { z } from 'zod'
import type { GenerationRequest } from '../../generation/generation.js'
import { SAMPLERS } from '../../generation/sampler.js'
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

export interface GenerateBody {
  readonly modelVersionId: number
  readonly request: GenerationRequest
}

/** What a request may ask for, beside what both interfaces share: see fields.ts. */
export const LIMITS = {
  batch_size: { min: 1, max: 4 },
  steps: { min: 1, max: 100 },
  cfg_scale: { min: 0, max: 30 },
} as const

/** What a request that leaves them out asks for. */
export const DEFAULTS = {
  negative_prompt: '',
  width: 832,
  height: 1216,
  batch_size: 1,
  steps: 30,
  cfg_scale: 7,
  sampler: 'euler_a',
} as const

const { batch_size: batchSize, steps, cfg_scale: cfgScale } = LIMITS

// Any integer is well-formed; whether it is in the catalog, the catalog says.
export const modelVersionId = z
  .number({
    error: ({ input }) =>
      input === undefined || input === null ? 'model_version_id is required.' : 'model_version_id must be an integer.',
  })
  .refine(Number.isInteger, 'model_version_id must be an integer.')
  .meta({ type: 'integer', description: 'An `id` of GET /api/v1/models' })

export const generateBody = z
  .strictObject(
    {
      prompt: promptField,
      negative_prompt: optional(negativePromptField, DEFAULTS.negative_prompt),
      model_version_id: modelVersionId,
      width: optional(side('width'), DEFAULTS.width),
      height: optional(side('height'), DEFAULTS.height),
      batch_size: optional(
        integer('batch_size', batchSize.min, batchSize.max).describe('How many images'),
        DEFAULTS.batch_size,
      ),
      steps: optional(integer('steps', steps.min, steps.max).describe('Sampling steps'), DEFAULTS.steps),
      cfg_scale: optional(
        number('cfg_scale', cfgScale.min, cfgScale.max).describe('How closely to follow the prompt'),
        DEFAULTS.cfg_scale,
      ),
      sampler: optional(choice('sampler', SAMPLERS), DEFAULTS.sampler),
      seed: seedField,
    },
    NOT_AN_OBJECT,
  )
  .refine(fitsCanvas, CANVAS_ISSUE)
  .transform(
    (body): GenerateBody => ({
      modelVersionId: body.model_version_id,
      request: {
        prompt: body.prompt,
        negativePrompt: body.negative_prompt,
        width: body.width,
        height: body.height,
        batchSize: body.batch_size,
        steps: body.steps,
        cfgScale: body.cfg_scale,
        sampler: body.sampler,
        seed: body.seed,
      },
    }),
  )
