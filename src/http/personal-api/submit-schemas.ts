import { z } from 'zod'
import type { GenerationRequest } from '../../generation/generation.js'
import { SAMPLERS } from '../../generation/sampler.js'
import type { Submitted } from '../../generation/submit/submission.js'
import type { DryRun } from '../../generation/submit/submit.js'
import { personalRefusals } from '../error-bodies.js'
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
import { queryFlag } from '../query-fields.js'
import { EXAMPLE_GENERATION_ID, generationId } from './generation-schemas.js'

interface GenerateBody {
  readonly modelVersionId: number
  readonly request: GenerationRequest
}

/** The bounds of a request; fields.ts has those that both interfaces share. */
export const LIMITS = {
  batch_size: { min: 1, max: 4 },
  steps: { min: 1, max: 100 },
  cfg_scale: { min: 0, max: 30 },
} as const

/** What a request gets that leaves these out. */
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

// Any integer is well-formed. The catalog says whether it exists.
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
      negative_prompt: withDefault(negativePromptField, DEFAULTS.negative_prompt),
      model_version_id: modelVersionId,
      width: withDefault(side('width'), DEFAULTS.width),
      height: withDefault(side('height'), DEFAULTS.height),
      batch_size: withDefault(
        integer('batch_size', batchSize.min, batchSize.max).describe('How many images'),
        DEFAULTS.batch_size,
      ),
      steps: withDefault(integer('steps', steps.min, steps.max).describe('Sampling steps'), DEFAULTS.steps),
      cfg_scale: withDefault(
        number('cfg_scale', cfgScale.min, cfgScale.max).describe('How closely to follow the prompt'),
        DEFAULTS.cfg_scale,
      ),
      sampler: withDefault(choice('sampler', SAMPLERS), DEFAULTS.sampler),
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

const dryRun = z
  .object({
    dry_run: z.literal(true),
    model_version_id: z.int(),
    model_name: z.string(),
    credits_needed: z.int().min(0),
    credits_held: z.int().min(0),
    sufficient: z.boolean().describe('Whether the credits suffice'),
    active_generation: z.string().nullable().describe('The ID of the one that a submit would have to wait for'),
  })
  .meta({
    id: 'DryRun',
    examples: [
      {
        dry_run: true,
        model_version_id: 10,
        model_name: 'Pony Diffusion',
        credits_needed: 4,
        credits_held: 94,
        sufficient: true,
        active_generation: null,
      },
    ],
  })

export const dryRunView = ({
  model,
  creditsNeeded,
  creditsHeld,
  activeGenerationId,
}: DryRun): z.output<typeof dryRun> => ({
  dry_run: true,
  model_version_id: model.id,
  model_name: model.modelName,
  credits_needed: creditsNeeded,
  credits_held: creditsHeld,
  sufficient: creditsHeld >= creditsNeeded,
  active_generation: activeGenerationId ?? null,
})

const submitted = z
  .object({
    id: generationId,
    status: z.literal('queued'),
    model_version_id: z.int(),
    model_name: z.string(),
    credits_charged: z.int().min(0),
    seed: z.int().min(0).describe('Of the first image; image n uses (seed + n) mod 2^32'),
    created_at: z.iso.datetime(),
    poll_url: z.string(),
  })
  .meta({
    id: 'SubmittedGeneration',
    examples: [
      {
        id: EXAMPLE_GENERATION_ID,
        status: 'queued',
        model_version_id: 10,
        model_name: 'Pony Diffusion',
        credits_charged: 1,
        seed: 1803774619,
        created_at: '2026-11-20T21:04:11.062Z',
        poll_url: `https://easel.example/api/v1/generate/${EXAMPLE_GENERATION_ID}`,
      },
    ],
  })

/** The answer to a submit: "queued", even if it repeats an earlier answer and that generation has moved on. */
export const submittedView = (generation: Submitted, pollUrl: string): z.output<typeof submitted> => ({
  id: generation.id,
  status: 'queued',
  model_version_id: generation.modelVersionId,
  model_name: generation.modelName,
  credits_charged: generation.cost,
  seed: generation.seed,
  created_at: generation.createdAt.toISOString(),
  poll_url: pollUrl,
})

export const submitGenerationSchema = {
  operationId: 'submitGeneration',
  tags: ['Generations'],
  summary: 'Submit a generation',
  description:
    'Charges its credits and queues it. One may be active at a time. With `dry_run=true` nothing is charged or ' +
    'queued: the same checks, and the price.',
  headers: idempotencyKeyHeader,
  querystring: z.strictObject({
    dry_run: queryFlag('dry_run').describe('Check and price the request, and do nothing'),
  }),
  body: generateBody,
  response: { 200: dryRun, 201: submitted, ...personalRefusals(400, 402, 404, 409, 413, 415, 422) },
}
