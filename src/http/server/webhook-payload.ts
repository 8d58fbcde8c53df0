import { generationFailed } from '../../core/errors.js'
import type { WebhookSubject } from '../../core/webhooks/ports.js'
import type { ClaimedDelivery } from '../../core/webhooks/webhook.js'
import { type CreateImageBody, createdView, withPublicSampler } from '../create-image-api/generate-schemas.js'
import { polledView } from '../personal-api/generations/poll-schemas.js'
import { createImageErrorBody } from '../shared/error-bodies.js'

/**
 * The body of a webhook: `{ type, timestamp, data }`. Its data is what the generation's interface would answer, or the event's own.
 * @param subject undefined for what is about no generation
 * @returns undefined when the image was removed
 */
export function webhookPayload(
  delivery: Pick<ClaimedDelivery, 'type' | 'at' | 'kind' | 'endpointId' | 'data'>,
  subject: WebhookSubject | undefined,
  imageUrl: (slug: string) => string,
): string | undefined {
  const { type, at, endpointId } = delivery
  const data = delivery.data ?? (subject ? webhookData(delivery, subject, imageUrl) : { endpoint_id: endpointId })
  return data && JSON.stringify({ type, timestamp: at.toISOString(), data })
}

function webhookData(
  { type, kind }: Pick<ClaimedDelivery, 'type' | 'kind'>,
  subject: WebhookSubject,
  imageUrl: (slug: string) => string,
): object | undefined {
  const { imageId: image_id, slugs, batchSize, error } = subject
  if (type === 'image.completed') {
    const [slug] = slugs
    if (slug === undefined) return undefined
    // Submitted through Create Image, so the name is one of its models.
    const asked = { model: subject.model as CreateImageBody['model'], request: subject }
    const { data } = createdView(subject, slug, imageUrl(slug), asked)
    // A request in OpenAI's shape may ask for several images: all of them are listed.
    return batchSize === 1 ? data : { ...data, images: slugs.map((id) => ({ url: imageUrl(id), id })) }
  }
  if (kind === 'request') return { image_id, ...createImageErrorBody(generationFailed(withPublicSampler(error ?? ''))) }
  return polledView({ ...subject, status: type === 'generation.failed' ? 'failed' : 'succeeded' }, imageUrl)
}
