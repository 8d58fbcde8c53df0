import { z } from 'zod'
import type { Polled, PolledStatus } from '../../generation/follow/poll.js'
import type { GenerationRequest } from '../../generation/generation.js'
import type { PastGeneration } from '../../generation/library/history.js'
import { SAMPLERS } from '../../generation/sampler.js'
import type { Submitted } from '../../generation/submit/submission.js'
import type { DryRun } from '../../generation/submit/submit.js'
import { coreOf, EXAMPLE, viewOf } from '../answers.js'
import * as drawing from '../drawing-fields.js'
import { personalRefusals } from '../error-bodies.js'
import * as field from '../fields.js'
import { idempotencyKeyHeader } from '../submission.js'

const tags = ['Generations']

/** The bounds of a request. */
export const LIMITS = {
  ...drawing.LIMITS,
  steps: { min: 1, max: 100 },
  cfg_scale: { min: 0, max: 30 },
} as const

/** What a request gets that leaves these out. */
export const DEFAULTS = {
  negative_prompt: '',
  ...drawing.DEFAULT_SIZE,
  batch_size: 1,
  steps: 30,
  cfg_scale: 7,
  sampler: 'euler_a',
} as const

export const generationParams = field.idParams('The ID of the generation')
const { id: generationId } = generationParams.shape

// Any integer is well-formed. The catalog says whether it exists.
export const modelVersionId = z
  .number(field.required('model_version_id is required.', 'model_version_id must be an integer.'))
  .refine(Number.isInteger, 'model_version_id must be an integer.')
  .meta({ type: 'integer', description: 'An `id` of GET /api/v1/models' })

const requestFields = {
  ...drawing.fields,
  ...drawing.size,
  batch_size: field.withDefault(
    field.integer('batch_size', LIMITS.batch_size).describe('How many images'),
    DEFAULTS.batch_size,
  ),
  steps: field.withDefault(field.integer('steps', LIMITS.steps).describe('Sampling steps'), DEFAULTS.steps),
  cfg_scale: field.withDefault(
    field.number('cfg_scale', LIMITS.cfg_scale).describe('How closely to follow the prompt'),
    DEFAULTS.cfg_scale,
  ),
  sampler: field.withDefault(field.choice('sampler', SAMPLERS), DEFAULTS.sampler),
  seed: drawing.seed,
}

export const generateBody = field
  // Spread before, too, so that the API's description lists the model behind the prompts.
  .body({ ...drawing.fields, model_version_id: modelVersionId, ...requestFields })
  .refine(...drawing.fitsCanvas)
  .transform((body): { readonly modelVersionId: number; readonly request: GenerationRequest } => ({
    modelVersionId: body.model_version_id,
    request: coreOf(requestFields, body),
  }))

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
    credits_held: z.int().min(0),
    sufficient: z.boolean().describe('Whether the credits suffice'),
    active_generation: z.string().nullable().describe('The ID of the one that a submit would have to wait for'),
  })
  .meta({ id: 'DryRun', examples: [EXAMPLE_DRY_RUN] })

export const dryRunView = ({ model, creditsNeeded, creditsHeld, activeGenerationId }: DryRun) =>
  viewOf(dryRun, {
    dryRun: true,
    modelVersionId: model.id,
    modelName: model.modelName,
    creditsNeeded,
    creditsHeld,
    sufficient: creditsHeld >= creditsNeeded,
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

export const submitGeneration = {
  operationId: 'submitGeneration',
  tags,
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

export const polled = z
  .discriminatedUnion('status', [
    z.object({
      id: generationId,
      status: z.literal('queued'),
      queue_position: z.int().min(1).describe('1 for the next one up'),
    }),
    z.object({ id: generationId, status: z.literal('processing') }),
    z.object({
      id: generationId,
      status: z.literal('succeeded'),
      output: z.object({
        images: z.array(
          z.object({
            url: z.string().describe('Permanent and public'),
            id: z.string().describe('The slug: {base_url}/image/<id> shows the image'),
          }),
        ),
        seed: z.int().min(0),
      }),
    }),
    z.object({ id: generationId, status: z.literal('failed'), error: z.string().describe('One sentence') }),
  ])
  .meta({
    id: 'Generation',
    examples: [
      { id: EXAMPLE.generationId, status: 'queued', queue_position: 3 },
      { id: EXAMPLE.generationId, status: 'processing' },
      {
        id: EXAMPLE.generationId,
        status: 'succeeded',
        output: { images: [{ url: EXAMPLE.imageUrl, id: EXAMPLE.slug }], seed: EXAMPLE.seed },
      },
      { id: EXAMPLE.generationId, status: 'failed', error: 'Canceled.' },
    ],
  })

export function polledView(
  generation: Pick<Polled, 'id' | 'slugs' | 'seed' | 'error'> & PolledStatus,
  imageUrl: (slug: string) => string,
): z.output<typeof polled> {
  const { id, status, seed } = generation
  if (status === 'queued') return { id, status, queue_position: generation.queuePosition }
  if (status === 'processing') return { id, status }
  if (status === 'failed') return { id, status, error: generation.error ?? '' }
  return { id, status, output: { images: generation.slugs.map((slug) => ({ url: imageUrl(slug), id: slug })), seed } }
}

const STATUSES = ['queued', 'processing', 'succeeded', 'failed'] as const

export const modelVersionFilter = field
  .queryInteger('model_version_id', { min: 1, max: 999_999_999_999_999 })
  .optional()
  .describe('Only those of this model version')

const milliseconds = (description: string) => z.int().min(0).nullable().describe(description)

const EXAMPLE_PAST_GENERATION = {
  id: EXAMPLE.generationId,
  status: 'succeeded',
  interface: 'personal',
  ...EXAMPLE.model,
  ...drawing.EXAMPLE_SHOWN,
  seed: EXAMPLE.seed,
  created_at: EXAMPLE.submittedAt,
  started_at: '2026-11-20T21:04:11.562Z',
  finished_at: EXAMPLE.finishedAt,
  queue_ms: 500,
  run_ms: 5500,
  credits: { charged: 1, refunded: 0 },
  metered: false,
  error: null,
  images: [{ id: EXAMPLE.slug, url: EXAMPLE.imageUrl, seed: EXAMPLE.seed }],
} as const

const pastGeneration = z
  .object({
    id: z.string(),
    status: z.enum(STATUSES),
    interface: z.enum(['personal', 'create_image']).describe('Where it was submitted'),
    model_version_id: z.int(),
    model_name: z.string(),
    ...drawing.shown,
    seed: z.int().describe('Of the first image'),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
    queue_ms: milliseconds('From the submit to the start'),
    run_ms: milliseconds('From the first start to the end'),
    credits: z.object({ charged: z.int().min(0), refunded: z.int().min(0) }),
    metered: z.boolean().describe('Made with a developer key: counted instead of charged'),
    error: z.string().nullable().describe('Why it failed'),
    images: z.array(z.object({ id: z.string(), url: z.string(), seed: z.int() })).describe('Without removed ones'),
  })
  .meta({ id: 'PastGeneration', examples: [EXAMPLE_PAST_GENERATION] })

const millisecondsBetween = (from: Date | null, to: Date | null) => from && to && Math.max(0, +to - +from)

export const pastGenerationView = (it: PastGeneration, imageUrl: (slug: string) => string) =>
  viewOf(pastGeneration, {
    ...it,
    interface: it.lane,
    queueMs: millisecondsBetween(it.createdAt, it.startedAt),
    runMs: millisecondsBetween(it.startedAt, it.finishedAt),
    credits: { charged: it.charged, refunded: it.refunded },
    images: it.images.map(({ slug, seed }) => ({ id: slug, url: imageUrl(slug), seed })),
  })

export const listGenerations = {
  operationId: 'listGenerations',
  tags,
  summary: 'Your generations, newest first',
  description: 'With all that was asked for, when it ran, what it cost and what came of it.',
  querystring: z.strictObject({
    status: field.choice('status', STATUSES).optional().describe('Only those with this status'),
    model_version_id: modelVersionFilter,
    since: field.queryTime('since').optional().describe('Submitted at this time or later'),
    until: field.queryTime('until').optional().describe('Submitted before this time'),
    ...field.page(2),
  }),
  response: {
    200: z
      .object({ generations: z.array(pastGeneration), next_cursor: field.nextCursor })
      .meta({ id: 'GenerationList' }),
    ...personalRefusals(400),
  },
}
