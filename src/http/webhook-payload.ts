import { generationFailed } from '../errors.js'
import type { WebhookSubject } from '../webhooks/ports.js'
import type { ClaimedDelivery } from '../webhooks/webhook.js'
import { errorBody } from './create-image-api/envelope.js'
import { inOwnWords } from './create-image-api/presets.js'
import type { CreateImageBody } from './create-image-api/schemas.js'
import { createdView } from './create-image-api/views.js'
import { polledView } from './personal-api/views.js'

/**
 * What an event says: `{ type, timestamp, data }`, with the bodies that the interfaces themselves answer.
 * @param subject undefined for a test
 * @returns undefined when its picture is gone
 */
export function webhookPayload(
  delivery: Pick<ClaimedDelivery, 'type' | 'at' | 'kind' | 'endpointId'>,
  subject: WebhookSubject | undefined,
  imageUrl: (slug: string) => string,
): string | undefined {
  const data = subject ? dataOf(delivery, subject, imageUrl) : { endpoint_id: delivery.endpointId }
  return data && JSON.stringify({ type: delivery.type, timestamp: delivery.at.toISOString(), data })
}

function dataOf(
  { type, kind }: Pick<ClaimedDelivery, 'type' | 'kind'>,
  subject: WebhookSubject,
  imageUrl: (slug: string) => string,
): object | undefined {
  if (type === 'image.completed') {
    const [slug] = subject.slugs
    // One of Create Image's names, since it came through there.
    const asked = { model: subject.model as CreateImageBody['model'], request: subject }
    if (slug === undefined) return undefined
    const { data } = createdView(subject, slug, imageUrl(slug), asked)
    // OpenAI's shape asks for several at once: each is told, not the first alone.
    return subject.batchSize === 1 ? data : { ...data, images: subject.slugs.map((id) => ({ url: imageUrl(id), id })) }
  }
  if (kind === 'request')
    return { image_id: subject.imageId, ...errorBody(generationFailed(inOwnWords(subject.error ?? ''))) }
  return polledView({ ...subject, status: type === 'generation.failed' ? 'failed' : 'succeeded' }, imageUrl)
}
