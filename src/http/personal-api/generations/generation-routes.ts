import { z } from 'zod'
import { personalRefusals } from '../../shared/error-bodies.js'
import type { App } from '../../shared/fastify-app.js'
import * as field from '../../shared/fields.js'
import * as drawing from '../../shared/generation-fields.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { EXAMPLE, viewOf } from '../../shared/responses.js'

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

const listGenerationsSchema = {
  operationId: 'listGenerations',
  tags: ['Generations'],
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

/** Everything that an account has submitted, on either interface and with any of its keys. */
export function generationRoutes(app: App, { history, images }: PersonalApiPorts): void {
  app.get('/generations', { schema: listGenerationsSchema }, async ({ caller, query }, reply) => {
    const { limit, cursor: after, model_version_id: modelVersionId, ...filter } = query
    const page = { limit, after }
    const { items, next } = await history.generations(caller.account.id, { ...filter, modelVersionId }, page)
    const generations = items.map((it) =>
      viewOf(pastGeneration, {
        ...it,
        interface: it.lane,
        queueMs: millisecondsBetween(it.createdAt, it.startedAt),
        runMs: millisecondsBetween(it.startedAt, it.finishedAt),
        credits: { charged: it.charged, refunded: it.refunded },
        images: it.images.map(({ slug, seed }) => ({ id: slug, url: images.url(slug), seed })),
      }),
    )
    return reply.header('cache-control', 'no-store').send({ generations, next_cursor: field.cursorOf(next) })
  })
}
