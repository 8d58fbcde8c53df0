import { z } from 'zod'
import type { ImageStore } from '../../generation/image-store.js'
import type { HistoryStore, PastGeneration } from '../../generation/library/history.js'
import { SAMPLERS } from '../../generation/sampler.js'
import type { App } from '../fastify-app.js'
import { choice, queryIntegerIfAny, queryTime } from '../fields.js'
import { cursorOf, nextCursor, pageFields } from '../paging.js'
import { refusals } from './envelope.js'

const STATUSES = ['queued', 'processing', 'succeeded', 'failed'] as const

export const ofModelVersion = queryIntegerIfAny('model_version_id', 1, 999_999_999_999_999).describe(
  'Only those of this model version',
)

const generationsQuery = z.strictObject({
  status: choice('status', STATUSES).optional().describe('Only those with this status'),
  model_version_id: ofModelVersion,
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
        id: 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x',
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

const between = (from: Date, to: Date | null) => to && Math.max(0, to.getTime() - from.getTime())

const pastGenerationView = (
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
  queue_ms: between(it.createdAt, it.startedAt),
  run_ms: it.startedAt && between(it.startedAt, it.finishedAt),
  credits: { charged: it.charged, refunded: it.refunded },
  metered: it.metered,
  error: it.error,
  images: it.images.map(({ slug, seed }) => ({ id: slug, url: imageUrl(slug), seed })),
})

/** All that an account has submitted, on either interface and with any of its keys. */
export function generationsRoutes(
  app: App,
  { history, images }: { readonly history: HistoryStore; readonly images: ImageStore },
): void {
  app.get(
    '/generations',
    {
      schema: {
        operationId: 'listGenerations',
        tags: ['Generations'],
        summary: 'Your generations, newest first',
        description: 'With all that was asked for, when it ran, what it cost and what came of it.',
        querystring: generationsQuery,
        response: { 200: generationList, ...refusals(400) },
      },
    },
    async ({ caller, query }, reply) => {
      const { limit, cursor, status, model_version_id: modelVersionId, since, until } = query
      const filter = { status, modelVersionId, since, until }
      const { items, next } = await history.generations(caller.account.id, filter, { limit, after: cursor })
      reply.header('cache-control', 'no-store')
      const generations = items.map((it) => pastGenerationView(it, (slug) => images.url(slug)))
      return { generations, next_cursor: cursorOf(next) }
    },
  )
}
