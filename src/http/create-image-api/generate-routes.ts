import { requireCreateImageModel } from '../../catalog/model-version.js'
import type { App } from '../app.js'
import { idempotencyKeyHeader, idempotencyOf } from '../idempotency.js'
import { refusals } from './envelope.js'
import type { CreateImageApiOptions } from './plugin.js'
import { createImageBody } from './schemas.js'
import { createdImage, createdView } from './views.js'
import type { CreatePictures } from './waiting.js'

/** Spec 4.6. */
export function generateRoutes(
  app: App,
  ports: Pick<CreateImageApiOptions['ports'], 'models' | 'images'>,
  createPictures: CreatePictures,
): void {
  const schema = {
    operationId: 'createImage',
    tags: ['Create Image'],
    summary: 'Create one image',
    description: 'Answers when the picture is stored, within 120 s.',
    headers: idempotencyKeyHeader,
    body: createImageBody,
    response: { 200: createdImage, ...refusals(400, 402, 403, 404, 409, 413, 415, 422, 500, 504) },
  }
  app.post('/images/generate', { schema }, async (request, reply) => {
    const { model, request: asked } = request.body
    const { submitted, slugs } = await createPictures(request, reply, {
      request: asked,
      model: async () => requireCreateImageModel(await ports.models.findByCreateImageModel(model), model),
      idempotency: idempotencyOf(request, 'create_image'),
    })
    const [slug] = slugs
    return createdView(submitted, slug, ports.images.url(slug), request.body)
  })
}
