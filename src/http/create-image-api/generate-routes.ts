import type { FastifyRequest } from 'fastify'
import type { ModelStore } from '../../catalog/model-version.js'
import type { Abilities } from '../../generation/failure-reason.js'
import { sayWhenFree, type TimeLeftPorts } from '../../generation/follow/eta.js'
import type { ImageStore } from '../../generation/ports.js'
import type { SubmitPorts } from '../../generation/submit/submission.js'
import { submitGeneration } from '../../generation/submit/submit.js'
import { admitWebhookUrl, type EndpointPorts } from '../../webhooks/endpoints.js'
import type { App } from '../fastify-app.js'
import { idempotencyOf } from '../idempotency-key.js'
import { setSubmittedHeaders } from '../response-headers.js'
import { type CreateImageBody, createdView, createImageSchema, queuedView } from './generate-schemas.js'
import type { CreateImages } from './image-creation.js'
import { requireUsableModel } from './presets.js'

export type GenerateRoutePorts = SubmitPorts &
  TimeLeftPorts & {
    readonly models: ModelStore
    readonly abilities: Abilities
    readonly images: Pick<ImageStore, 'url'>
    readonly webhooks: EndpointPorts
  }

/** Spec 4.6. */
export function generateRoutes(app: App, ports: GenerateRoutePorts, createImages: CreateImages): void {
  const submissionOf = (request: FastifyRequest & { readonly body: CreateImageBody }) => {
    const { model, request: generation } = request.body
    const findModel = async () => {
      const found = await ports.models.findByCreateImageModel(model)
      return requireUsableModel(ports.abilities, model, found, generation.sampler)
    }
    return { request: generation, model: findModel, idempotency: idempotencyOf(request, 'create_image') }
  }

  app.post('/images/generate', { schema: createImageSchema }, async (request, reply) => {
    const { webhookUrl } = request.body
    if (webhookUrl !== undefined) {
      const webhook = await admitWebhookUrl(ports.webhooks, request.caller.account, webhookUrl)
      const submission = { ...submissionOf(request), lane: 'create_image', webhookUrl: webhook.url } as const
      const submitting = submitGeneration(ports, request.caller, submission)
      const submitted = await sayWhenFree(ports, request.caller.account, submitting)
      setSubmittedHeaders(reply, submitted)
      reply.header('webhook-secret', webhook.secret).code(202)
      return queuedView(submitted, request.body)
    }
    const { submitted, slugs } = await createImages(request, reply, submissionOf(request))
    const [slug] = slugs
    return createdView(submitted, slug, ports.images.url(slug), request.body)
  })
}
