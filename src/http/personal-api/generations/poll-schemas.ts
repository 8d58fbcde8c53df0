import { z } from 'zod'
import type { Polled, PolledStatus } from '../../../core/generations/follow/poll.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import { notModified } from '../../shared/etag.js'
import { idParams, queryInteger } from '../../shared/fields.js'
import { EXAMPLE } from '../../shared/responses.js'

export const generationParams = idParams('The ID of the generation')
export const { id: generationId } = generationParams.shape

const polled = z
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
            url: z.string().describe('Permanent, and public unless its owner makes the image private'),
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

const MAX_WAIT_SECONDS = 30

export const pollGenerationSchema = {
  operationId: 'pollGeneration',
  tags: ['Generations'],
  summary: 'See how a generation is doing',
  description:
    'Poll until `status` is `succeeded` or `failed`. Until then `Retry-After` says when the next poll is worth it, ' +
    '`X-Eta-Seconds` when the end is to be expected, and `X-Progress` from 0 to 1 how much is drawn, each where that ' +
    'is known. With `wait` the answer comes as soon as there is something new; that counts as one request.',
  params: generationParams,
  // Not strict: this query has always ignored other parameters.
  querystring: z.object({
    wait: queryInteger('wait', { min: 1, max: MAX_WAIT_SECONDS })
      .optional()
      .describe('Answer as soon as the status or the place changes, at the latest after so many seconds'),
  }),
  headers: z.looseObject({
    'if-none-match': z.string().optional().describe('The `ETag` of the last answer: 304 while it would be the same'),
  }),
  response: { 200: polled, 304: notModified, ...personalRefusals(400, 404, 412) },
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
