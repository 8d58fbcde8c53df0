import { z } from 'zod'
import type { Polled, PolledStatus } from '../../generation/follow/poll.js'
import type { PastGeneration } from '../../generation/library/history.js'
import { SAMPLERS } from '../../generation/sampler.js'
import { personalRefusals } from '../error-bodies.js'
import { choice } from '../fields.js'
import { nextCursor, optionalQueryInteger, pageFields, queryTime } from '../query-fields.js'

export const EXAMPLE_GENERATION_ID = 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x'
export const generationId = z.string().describe('The ID of the generation')

/** Any string: a malformed ID is answered like one that does not exist. */
export const generationParams = z.object({ id: generationId })

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
      { id: EXAMPLE_GENERATION_ID, status: 'queued', queue_position: 3 },
      { id: EXAMPLE_GENERATION_ID, status: 'processing' },
      {
        id: EXAMPLE_GENERATION_ID,
        status: 'succeeded',
        output: {
          images: [{ url: 'https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png', id: 'Zk3vQ9xT1bN7mR4wY8cL2s' }],
          seed: 1803774619,
        },
      },
      { id: EXAMPLE_GENERATION_ID, status: 'failed', error: 'Canceled.' },
    ],
  })

export function polledView(
  generation: Pick<Polled, 'id' | 'slugs' | 'seed' | 'error'> & PolledStatus,
  imageUrl: (slug: string) => string,
): z.output<typeof polled> {
  const { id } = generation
  switch (generation.status) {
    case 'queued':
      return { id, status: 'queued', queue_position: generation.queuePosition }
    case 'processing':
      return { id, status: 'processing' }
    case 'succeeded':
      return {
        id,
        status: 'succeeded',
        output: { images: generation.slugs.map((slug) => ({ url: imageUrl(slug), id: slug })), seed: generation.seed },
      }
    case 'failed':
      return { id, status: 'failed', error: generation.error ?? '' }
  }
}

export const cancelGenerationSchema = {
  operationId: 'cancelGeneration',
  tags: ['Generations'],
  summary: 'Cancel a generation',
  description:
    'What has not ended fails with "Canceled.", all its credits are given back, and another one may be submitted ' +
    'at once. What has ended stays as it is. Answers like a poll, however often it is asked. No body is needed.',
  params: generationParams,
  response: { 200: polled, ...personalRefusals(404, 413) },
}

const STATUSES = ['queued', 'processing', 'succeeded', 'failed'] as const

export const modelVersionFilter = optionalQueryInteger('model_version_id', 1, 999_999_999_999_999).describe(
  'Only those of this model version',
)

const generationsQuery = z.strictObject({
  status: choice('status', STATUSES).optional().describe('Only those with this status'),
  model_version_id: modelVersionFilter,
  since: queryTime('since').optional().describe('Submitted at this time or later'),
  until: queryTime('until').optional().describe('Submitted before this time'),
  ...pageFields(2),
})

const milliseconds = (description: string) => z.int().min(0).nullable().describe(description)

const pastGeneration = z
  .object({
    id: z.string(),
    status: z.enum(STATUSES),
    interface: z.enum(['personal', 'create_image']).describe('Where it was submitted'),
    model_version_id: z.int(),
    model_name: z.string(),
    prompt: z.string(),
    negative_prompt: z.string(),
    width: z.int(),
    height: z.int(),
    batch_size: z.int(),
    steps: z.int(),
    cfg_scale: z.number(),
    sampler: z.enum(SAMPLERS),
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
  .meta({
    id: 'PastGeneration',
    examples: [
      {
        id: EXAMPLE_GENERATION_ID,
        status: 'succeeded',
        interface: 'personal',
        model_version_id: 10,
        model_name: 'Pony Diffusion',
        prompt: 'a lighthouse at dusk',
        negative_prompt: '',
        width: 832,
        height: 1216,
        batch_size: 1,
        steps: 30,
        cfg_scale: 7,
        sampler: 'euler_a',
        seed: 1803774619,
        created_at: '2026-11-20T21:04:11.062Z',
        started_at: '2026-11-20T21:04:11.562Z',
        finished_at: '2026-11-20T21:04:17.062Z',
        queue_ms: 500,
        run_ms: 5500,
        credits: { charged: 1, refunded: 0 },
        metered: false,
        error: null,
        images: [
          {
            id: 'Zk3vQ9xT1bN7mR4wY8cL2s',
            url: 'https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png',
            seed: 1803774619,
          },
        ],
      },
    ],
  })

const generationList = z
  .object({ generations: z.array(pastGeneration), next_cursor: nextCursor })
  .meta({ id: 'GenerationList' })

const millisecondsBetween = (from: Date, to: Date | null) => to && Math.max(0, to.getTime() - from.getTime())

export const pastGenerationView = (
  it: PastGeneration,
  imageUrl: (slug: string) => string,
): z.output<typeof pastGeneration> => ({
  id: it.id,
  status: it.status,
  interface: it.lane,
  model_version_id: it.modelVersionId,
  model_name: it.modelName,
  prompt: it.prompt,
  negative_prompt: it.negativePrompt,
  width: it.width,
  height: it.height,
  batch_size: it.batchSize,
  steps: it.steps,
  cfg_scale: it.cfgScale,
  sampler: it.sampler,
  seed: it.seed,
  created_at: it.createdAt.toISOString(),
  started_at: it.startedAt?.toISOString() ?? null,
  finished_at: it.finishedAt?.toISOString() ?? null,
  queue_ms: millisecondsBetween(it.createdAt, it.startedAt),
  run_ms: it.startedAt && millisecondsBetween(it.startedAt, it.finishedAt),
  credits: { charged: it.charged, refunded: it.refunded },
  metered: it.metered,
  error: it.error,
  images: it.images.map(({ slug, seed }) => ({ id: slug, url: imageUrl(slug), seed })),
})

export const listGenerationsSchema = {
  operationId: 'listGenerations',
  tags: ['Generations'],
  summary: 'Your generations, newest first',
  description: 'With all that was asked for, when it ran, what it cost and what came of it.',
  querystring: generationsQuery,
  response: { 200: generationList, ...personalRefusals(400) },
}
