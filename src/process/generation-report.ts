/** What is told of one generation: its row, its images, its credits, its attempts and its webhooks. */
import { attemptsOf, type GenerationRecord, interfaceOf, SETTINGS } from '../core/operator/generation-story.js'
import { jsonOf } from '../lib/names.js'

/** As JSON. @param url of an image */
export function reportOf(found: GenerationRecord, url: (slug: string) => string) {
  const { generation: g, username, key, images, entries, deliveries } = found
  return {
    ...{ id: g.id, status: g.status, error: g.error, username },
    key: jsonOf(key, 'id', 'kind', 'name'),
    interface: interfaceOf(found),
    request_id: g.requestId,
    trace_id: g.traceparent?.split('-')[1] ?? null,
    ...jsonOf(g, 'lane', 'metered'),
    credits_charged: g.cost,
    ...jsonOf(g, 'modelVersionId', 'modelName', 'filename', 'prompt', 'negativePrompt', 'width', 'height', 'batchSize'),
    ...jsonOf(g, ...SETTINGS, 'seed', 'attempt', 'tries', 'deaths', 'worker', 'backend'),
    ...jsonOf(g, 'createdAt', 'startedAt', 'finishedAt', 'deadlineAt', 'leaseUntil'),
    images: images.map((image) => ({
      slug: image.slug,
      url: image.removedAt ? null : url(image.slug),
      ...jsonOf(image, 'seed', 'width', 'height', 'bytes', 'sha256', 'madeWith', 'removedAt', 'removedReason'),
    })),
    ledger: entries.map((entry) => jsonOf(entry, 'kind', 'delta', 'balance', 'createdAt')),
    attempts: attemptsOf(found).map((attempt) => jsonOf(attempt)),
    // Its path may be a secret.
    webhooks: deliveries.map((delivery) => ({ ...jsonOf(delivery), url: new URL(delivery.url).origin })),
  }
}
