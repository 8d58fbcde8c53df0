import type { Submission } from '../../core/generations/submit/ports.js'
import { admitWebhookUrl } from '../../core/webhooks/endpoints.js'
import { catalogRevisionOf } from '../shared/authentication.js'
import type { App } from '../shared/fastify-app.js'
import { idempotencyOf, submitFor } from '../shared/idempotency-key.js'
import type { CreateImageApiPorts } from '../shared/ports.js'
import { createdView, createImageSchema, queuedView } from './generate-schemas.js'
import type { CreateImages } from './image-creation.js'
import { requireUsableModel } from './presets.js'

/** Spec 4.6. */
export function generateRoutes(app: App, ports: CreateImageApiPorts, createImages: CreateImages): void {
  app.post('/images/generate', { schema: createImageSchema }, async (request, reply) => {
    const { model: name, request: generation, webhookUrl } = request.body
    const submission = (): Submission => ({
      lane: 'create_image',
      request: generation,
      model: async () => {
        const found = await ports.models.findByCreateImageModel(name, catalogRevisionOf(request, reply))
        return requireUsableModel(ports.abilities, name, found, generation.sampler)
      },
      idempotency: idempotencyOf(request, 'create_image'),
    })
    if (webhookUrl === undefined) {
      const { submitted, slugs } = await createImages(request, reply, submission())
      const [slug] = slugs
      return createdView(submitted, slug, ports.images.url(slug), request.body)
    }
    const { url, secret } = await admitWebhookUrl(ports.webhooks, request.caller.account, webhookUrl)
    const submitted = await submitFor(request, reply, ports, { ...submission(), webhookUrl: url })
    reply.header('webhook-secret', secret).code(202)
    return queuedView(submitted, request.body)
  })
}
