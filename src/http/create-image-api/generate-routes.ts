import type { FastifyRequest } from 'fastify'
import { sayWhenFree } from '../../generation/follow/eta.js'
import { submitGeneration } from '../../generation/submit/submit.js'
import { admitWebhookUrl } from '../../webhooks/endpoints.js'
import type { App } from '../fastify-app.js'
import { idempotencyKeyHeader, idempotencyOf } from '../idempotency.js'
import { tellSubmitted } from '../submitted-headers.js'
import { requireDrawable } from './drawable.js'
import { refusals } from './envelope.js'
import type { CreateImageApiOptions } from './plugin.js'
import { type CreateImageBody, createImageBody } from './schemas.js'
import { createdImage, createdView, queuedImage, queuedView } from './views.js'
import type { CreatePictures } from './waiting.js'

/** Spec 4.6. */
export function generateRoutes(app: App, ports: CreateImageApiOptions['ports'], createPictures: CreatePictures): void {
  const asked = (request: FastifyRequest & { readonly body: CreateImageBody }) => {
    const { model, request: drawing } = request.body
    return {
      request: drawing,
      model: async () => requireDrawable(ports, model, await ports.models.findByCreateImageModel(model), drawing),
      idempotency: idempotencyOf(request, 'create_image'),
    }
  }
  const schema = {
    operationId: 'createImage',
    tags: ['Create Image'],
    summary: 'Create one image',
    description:
      'Answers when the picture is stored, within 120 s. With `webhook_url` it answers 202 at once; that URL is then told ' +
      '`image.completed` with the `data` of the 200, or `generation.failed`.',
    headers: idempotencyKeyHeader,
    body: createImageBody,
    response: { 200: createdImage, 202: queuedImage, ...refusals(400, 402, 403, 404, 409, 413, 415, 422, 504) },
  }
  app.post('/images/generate', { schema }, async (request, reply) => {
    const { webhookUrl } = request.body
    if (webhookUrl !== undefined) {
      const webhook = await admitWebhookUrl(ports.webhooks, request.caller.account, webhookUrl)
      const submission = { ...asked(request), lane: 'create_image', webhookUrl: webhook.url } as const
      const submitting = submitGeneration(ports, request.caller, submission)
      const submitted = await sayWhenFree(ports, request.caller.account, submitting)
      tellSubmitted(reply, submitted)
      reply.header('webhook-secret', webhook.secret).code(202)
      return queuedView(submitted, request.body)
    }
    const { submitted, slugs } = await createPictures(request, reply, asked(request))
    const [slug] = slugs
    return createdView(submitted, slug, ports.images.url(slug), request.body)
  })
}
