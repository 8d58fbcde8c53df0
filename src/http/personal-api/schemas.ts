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

// Any integer is well-formed; whether it is in the catalog, the catalog says.
const modelVersionId = z
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
      negative_prompt: optional(negativePromptField, ''),
      model_version_id: modelVersionId,
      width: optional(side('width'), 832),
      height: optional(side('height'), 1216),
      batch_size: optional(integer('batch_size', 1, 4).describe('How many images'), 1),
      steps: optional(integer('steps', 1, 100).describe('Sampling steps'), 30),
      cfg_scale: optional(number('cfg_scale', 0, 30).describe('How closely to follow the prompt'), 7),
      sampler: optional(choice('sampler', SAMPLERS), 'euler_a'),
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
