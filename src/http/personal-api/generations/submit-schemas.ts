import { z } from 'zod'
import { SAMPLERS } from '../../../core/generations/generation.js'
import type { Submitted } from '../../../core/generations/submit/ports.js'
import type { AskedRequest } from '../../../core/generations/submit/requested.js'
import type { DryRun } from '../../../core/generations/submit/submit.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import * as field from '../../shared/fields.js'
import * as drawing from '../../shared/generation-fields.js'
import { idempotencyKeyHeader } from '../../shared/idempotency-key.js'
import { coreOf, EXAMPLE, viewOf } from '../../shared/responses.js'
import { generationId } from './poll-schemas.js'

/** What a request gets that leaves these out. */
export const DEFAULTS = {
  negative_prompt: '',
  ...drawing.DEFAULT_SIZE,
  batch_size: 1,
  steps: 30,
  cfg_scale: 7,
  sampler: 'euler_a',
} as const

// Any integer is well-formed. The catalog says whether it exists.
export const modelVersionId = z
  .number(field.required('model_version_id is required.', field.asNumber('model_version_id must be an integer.')))
  .refine(Number.isInteger, 'model_version_id must be an integer.')
  .meta({ type: 'integer', description: 'An `id` of GET /api/v1/models' })

/** All of a submit but its model version. */
export const requestFields = {
  ...drawing.fields,
  ...drawing.size,
  batch_size: field.omittable(
    field.integer('batch_size', drawing.PERSONAL_LIMITS.batch_size).describe('How many images'),
    DEFAULTS.batch_size,
  ),
  steps: field.omittable(
    field.integer('steps', drawing.PERSONAL_LIMITS.steps).describe('Sampling steps'),
    DEFAULTS.steps,
  ),
  cfg_scale: field.omittable(
    field.number('cfg_scale', drawing.PERSONAL_LIMITS.cfg_scale).describe('How closely to follow the prompt'),
    DEFAULTS.cfg_scale,
  ),
  sampler: field.omittable(field.choice('sampler', SAMPLERS), DEFAULTS.sampler),
  seed: drawing.seed,
}

export const generateBody = field
  // Spread before, too, so that the API's description lists the model behind the prompts.
  .body({ ...drawing.fields, model_version_id: modelVersionId, ...requestFields })
  .refine(...drawing.fitsCanvas)
  .transform(({ model_version_id: modelVersionId, ...body }) => ({ modelVersionId, ...askedOf(body) }))

/** The fields of a body as the core's request. */
export function askedOf(fields: z.output<z.ZodObject<typeof requestFields>>): AskedRequest {
  const { body, omitted } = drawing.completed(requestFields, fields, DEFAULTS)
  return { request: coreOf(requestFields, body), omitted }
}

const EXAMPLE_DRY_RUN = {
  dry_run: true,
  ...EXAMPLE.model,
  credits_needed: 4,
  credits_held: 94,
  sufficient: true,
  active_generation: null,
}

const dryRun = z
  .object({
    dry_run: z.literal(true),
    model_version_id: z.int(),
    model_name: z.string(),
    credits_needed: z.int().min(0),
    credits_held: z.int(),
    sufficient: z.boolean().describe('Whether the credits suffice'),
    active_generation: z.string().nullable().describe('The ID of the one that a submit would have to wait for'),
  })
  .meta({ id: 'DryRun', examples: [EXAMPLE_DRY_RUN] })

export const dryRunView = ({ model, creditsNeeded, creditsHeld, sufficient, activeGenerationId }: DryRun) =>
  viewOf(dryRun, {
    dryRun: true,
    modelVersionId: model.id,
    modelName: model.modelName,
    creditsNeeded,
    creditsHeld,
    sufficient,
    activeGeneration: activeGenerationId ?? null,
  })

const EXAMPLE_SUBMITTED = {
  id: EXAMPLE.generationId,
  status: 'queued',
  ...EXAMPLE.model,
  credits_charged: 1,
  seed: EXAMPLE.seed,
  created_at: EXAMPLE.submittedAt,
  poll_url: `https://easel.example/api/v1/generate/${EXAMPLE.generationId}`,
} as const

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
  .meta({ id: 'SubmittedGeneration', examples: [EXAMPLE_SUBMITTED] })

/** The answer to a submit: "queued", even if it repeats an earlier answer and that generation has moved on. */
export const submittedView = (generation: Submitted, pollUrl: string) =>
  viewOf(submitted, { ...generation, status: 'queued', creditsCharged: generation.cost, pollUrl })

export const submitGenerationSchema = {
  operationId: 'submitGeneration',
  tags: ['Generations'],
  summary: 'Submit a generation',
  description:
    'Charges its credits and queues it. One may be active at a time. With `dry_run=true` nothing is charged or ' +
    'queued: the same checks, and the price.',
  headers: idempotencyKeyHeader,
  querystring: z.strictObject({
    dry_run: field.queryFlag('dry_run').describe('Check and price the request, and do nothing'),
  }),
  body: generateBody,
  response: { 200: dryRun, 201: submitted, ...personalRefusals(400, 402, 404, 409, 413, 415, 422) },
}
