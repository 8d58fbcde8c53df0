/** The bodies of spec 4.1 to 4.4: exactly their fields, nothing added. What more there is to say goes into headers. */
import { z } from 'zod'
import type { Account } from '../../account/account.js'
import type { ModelVersion } from '../../catalog/model-version.js'
import type { Polled, PolledStatus } from '../../generation/follow/poll.js'
import type { Submitted } from '../../generation/submit/submission.js'

export const account = z
  .object({
    username: z.string(),
    credits: z.int().min(0).describe('What you hold now'),
    subscription: z
      .object({
        status: z.string().describe('Such as "active", "canceled" or "expired"'),
        plan: z.string(),
        endDate: z.iso.datetime(),
      })
      .nullable()
      .describe('null without a subscription'),
  })
  .meta({
    id: 'Account',
    examples: [
      {
        username: 'alice',
        credits: 94,
        subscription: { status: 'active', plan: 'Pro', endDate: '2027-01-31T00:00:00.000Z' },
      },
    ],
  })

export const accountView = ({ username, credits, subscription }: Account): z.output<typeof account> => ({
  username,
  credits,
  subscription: subscription && {
    status: subscription.status,
    plan: subscription.plan,
    endDate: subscription.endDate.toISOString(),
  },
})

export const modelList = z
  .object({
    models: z.array(
      z.object({
        id: z.int().min(1).describe('Goes into `model_version_id`'),
        name: z.string().describe("The version's name"),
        model_name: z.string(),
        base_model: z.string().describe('The architecture, such as "Pony" or "Illustrious"'),
        type: z.string().describe('Such as "Checkpoint"'),
        filename: z.string(),
        cover_image: z.string().nullable().describe('A URL'),
        nsfw: z.boolean(),
      }),
    ),
    count: z.int().min(0).describe('How many there are'),
  })
  .meta({
    id: 'ModelList',
    examples: [
      {
        models: [
          {
            id: 10,
            name: 'v6',
            model_name: 'Pony Diffusion',
            base_model: 'Pony',
            type: 'Checkpoint',
            filename: 'ponyDiffusionV6XL.safetensors',
            cover_image: null,
            nsfw: false,
          },
        ],
        count: 1,
      },
    ],
  })

export const modelsView = (models: readonly ModelVersion[]): z.output<typeof modelList> => ({
  models: models.map((model) => ({
    id: model.id,
    name: model.name,
    model_name: model.modelName,
    base_model: model.baseModel,
    type: model.type,
    filename: model.filename,
    cover_image: model.coverImage,
    nsfw: model.nsfw,
  })),
  count: models.length,
})

const EXAMPLE_ID = 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x'
const id = z.string().describe('The ID of the generation')

export const submitted = z
  .object({
    id,
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
        id: EXAMPLE_ID,
        status: 'queued',
        model_version_id: 10,
        model_name: 'Pony Diffusion',
        credits_charged: 1,
        seed: 1803774619,
        created_at: '2026-11-20T21:04:11.062Z',
        poll_url: `https://easel.example/api/v1/generate/${EXAMPLE_ID}`,
      },
    ],
  })

/** The answer to a submit: "queued", even when the generation of a replayed one has moved on. */
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

export const polled = z
  .discriminatedUnion('status', [
    z.object({
      id,
      status: z.literal('queued'),
      queue_position: z.int().min(1).describe('1 for the next one up'),
    }),
    z.object({ id, status: z.literal('processing') }),
    z.object({
      id,
      status: z.literal('succeeded'),
      output: z.object({
        images: z.array(
          z.object({
            url: z.string().describe('Permanent and public'),
            id: z.string().describe('The slug: {base_url}/image/<id> shows the picture'),
          }),
        ),
        seed: z.int().min(0),
      }),
    }),
    z.object({ id, status: z.literal('failed'), error: z.string().describe('One sentence') }),
  ])
  .meta({
    id: 'Generation',
    examples: [
      { id: EXAMPLE_ID, status: 'queued', queue_position: 3 },
      { id: EXAMPLE_ID, status: 'processing' },
      {
        id: EXAMPLE_ID,
        status: 'succeeded',
        output: {
          images: [{ url: 'https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png', id: 'Zk3vQ9xT1bN7mR4wY8cL2s' }],
          seed: 1803774619,
        },
      },
      { id: EXAMPLE_ID, status: 'failed', error: 'Canceled.' },
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
