import { requireCreateImageModel } from '../../catalog/model-version.js'
import { pictureRemoved } from '../../errors.js'
import { waitForPicture } from '../../generation/create-image.js'
import { submitGeneration } from '../../generation/submit.js'
import type { App } from '../app.js'
import { idempotencyOf } from '../idempotency.js'
import type { CreateImageApiOptions } from './plugin.js'
import { createImageBody } from './schemas.js'
import { createdView } from './views.js'

/** Spec 4.6. */
export function generateRoutes(app: App, { ports, timeoutSeconds, leaving }: CreateImageApiOptions): void {
  app.post('/images/generate', { schema: { body: createImageBody } }, async (request, reply) => {
    const { model, request: asked } = request.body
    const submitted = await submitGeneration(ports, request.caller, {
      lane: 'create_image',
      request: asked,
      model: async () => requireCreateImageModel(await ports.models.findByCreateImageModel(model), model),
      idempotency: idempotencyOf(request, 'create_image'),
    })
    if (submitted.replayed) reply.header('idempotent-replayed', 'true')
    const gone = new AbortController()
    // "close" also comes after a complete answer, when nobody waits any more.
    reply.raw.once('close', () => gone.abort())
    if (reply.raw.destroyed) gone.abort()
    const { slugs } = await waitForPicture(ports, submitted, { timeoutSeconds, gone: gone.signal, leaving })
    const [slug] = slugs
    if (!slug) throw pictureRemoved()
    return createdView(submitted, slug, ports.images.url(slug), request.body)
  })
}
