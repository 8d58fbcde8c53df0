import type { FastifyRequest } from 'fastify'
import { requireCreateImageModel } from '../../catalog/model-version.js'
import { AppError, pictureRemoved } from '../../errors.js'
import { waitForPicture } from '../../generation/create-image.js'
import { submitGeneration } from '../../generation/submit.js'
import { admitWebhookUrl } from '../../webhooks/endpoints.js'
import type { App } from '../app.js'
import { idempotencyKeyHeader, idempotencyOf } from '../idempotency.js'
import { tellSubmitted } from '../submitted-headers.js'
import { refusals } from './envelope.js'
import type { CreateImageApiOptions } from './plugin.js'
import { type CreateImageBody, createImageBody } from './schemas.js'
import { createdImage, createdView, queuedImage, queuedView } from './views.js'

/** More than the GPUs behind one server draw while they wait. */
const MAX_WAITING = 1000

/** Spec 4.6. */
export function generateRoutes(app: App, options: CreateImageApiOptions): void {
  const { ports, timeoutSeconds, leaving, maxWaiting = MAX_WAITING } = options
  let waiting = 0
  const submit = (request: FastifyRequest & { readonly body: CreateImageBody }, webhookUrl?: string) => {
    const { model, request: asked } = request.body
    return submitGeneration(ports, request.caller, {
      lane: 'create_image',
      request: asked,
      model: async () => requireCreateImageModel(await ports.models.findByCreateImageModel(model), model),
      idempotency: idempotencyOf(request, 'create_image'),
      webhookUrl,
    })
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
    response: { 200: createdImage, 202: queuedImage, ...refusals(400, 402, 403, 404, 409, 413, 415, 422, 500, 504) },
  }
  app.post('/images/generate', { schema }, async (request, reply) => {
    const { webhookUrl } = request.body
    if (webhookUrl !== undefined) {
      const webhook = await admitWebhookUrl(ports.webhooks, request.caller.account, webhookUrl)
      const submitted = await submit(request, webhook.url)
      tellSubmitted(reply, submitted)
      reply.header('webhook-secret', webhook.secret).code(202)
      return queuedView(submitted, request.body)
    }
    // Before anything is charged.
    if (waiting >= maxWaiting) throw tooManyWaiting()
    waiting++
    try {
      const submitted = await submit(request)
      tellSubmitted(reply, submitted)
      const gone = new AbortController()
      // "close" also comes after a complete answer, when nobody waits any more.
      reply.raw.once('close', () => gone.abort())
      if (reply.raw.destroyed) gone.abort()
      request.leavePlace?.()
      const { slugs } = await waitForPicture(ports, submitted, { timeoutSeconds, gone: gone.signal, leaving })
      const [slug] = slugs
      if (!slug) throw pictureRemoved()
      return createdView(submitted, slug, ports.images.url(slug), request.body)
    } finally {
      waiting--
    }
  })
}

const tooManyWaiting = () =>
  new AppError(
    'rate_limited',
    'So many pictures are being waited for that the rate limit of this server is reached. Try again in 5 s.',
    { retryAfterSeconds: 5 },
  )
