/** The bodies of spec 4.1 to 4.4: exactly their fields, nothing added. What more there is to say goes into headers. */
import { type Account, subscriptionStatus } from '../../account/account.js'
import type { ModelVersion } from '../../catalog/model-version.js'
import type { Polled } from '../../generation/poll.js'
import type { Submitted } from '../../generation/submit.js'

export const accountView = ({ username, credits, subscription }: Account, now: Date) => ({
  username,
  credits,
  subscription: subscription && {
    status: subscriptionStatus(subscription, now),
    plan: subscription.plan,
    endDate: subscription.endDate.toISOString(),
  },
})

export const modelsView = (models: readonly ModelVersion[]) => ({
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

/** The answer to a submit: "queued", even when the generation of a replayed one has moved on. */
export const submittedView = (generation: Submitted, baseUrl: string) => ({
  id: generation.id,
  status: 'queued' as const,
  model_version_id: generation.modelVersionId,
  model_name: generation.modelName,
  credits_charged: generation.cost,
  seed: generation.seed,
  created_at: generation.createdAt.toISOString(),
  poll_url: `${baseUrl}/api/v1/generate/${generation.id}`,
})

export function polledView(generation: Polled, imageUrl: (slug: string) => string) {
  const { id, status } = generation
  switch (status) {
    case 'queued':
      return { id, status, queue_position: generation.queuePosition }
    case 'processing':
      return { id, status }
    case 'succeeded':
      return {
        id,
        status,
        output: { images: generation.slugs.map((slug) => ({ url: imageUrl(slug), id: slug })), seed: generation.seed },
      }
    case 'failed':
      return { id, status, error: generation.error }
  }
}
