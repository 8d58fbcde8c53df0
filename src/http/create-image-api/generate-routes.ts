import { requireCreateImageModel } from '../../catalog/model-version.js'
import { pictureRemoved } from '../../errors.js'
import { createImage } from '../../generation/create-image.js'
import type { App } from '../app.js'
import { idempotencyOf } from '../idempotency.js'
import type { CreateImageApiOptions } from './plugin.js'
import { createImageBody } from './schemas.js'
import { createdView } from './views.js'

/** Spec 4.6. */
export function generateRoutes(app: App, { ports, timeoutSeconds, leaving }: CreateImageApiOptions): void {
  app.post('/images/generate', { schema: { body: createImageBody } }, async (request, reply) => {
    const { model, request: asked } = request.body
    const gone = new AbortController()
    // "close" also comes after a complete answer, when nobody waits any more.
    reply.raw.once('close', () => gone.abort())
    const created = await createImage(
      ports,
      request.caller,
      {
        lane: 'create_image',
        request: asked,
        model: async () => requireCreateImageModel(await ports.models.findByCreateImageModel(model), model),
        idempotency: idempotencyOf(request, 'create_image'),
      },
      { timeoutSeconds, gone: gone.signal, leaving },
    )
    const [slug] = created.ended.slugs
    if (!slug) throw pictureRemoved()
    if (created.replayed) reply.header('idempotent-replayed', 'true')
    return createdView(created, slug, ports.images.url(slug), request.body)
  })
}
