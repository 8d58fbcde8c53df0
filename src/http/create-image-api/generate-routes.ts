import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, generationFailed, imageRemoved } from '../../core/errors.js'
import { waitForImage } from '../../core/generations/follow/follow.js'
import type { Submission } from '../../core/generations/submit/ports.js'
import { unansweredRepeats } from '../../core/generations/submit/repeats.js'
import { admitWebhookUrl } from '../../core/webhooks/endpoints.js'
import { whenAborted } from '../../lib/abort-signals.js'
import { catalogRevisionOf } from '../shared/authentication.js'
import type { App } from '../shared/fastify-app.js'
import { idempotencyOf, identityOf, submitFor } from '../shared/idempotency-key.js'
import type { CreateImageApiPorts } from '../shared/ports.js'
import { clientGone } from '../shared/responses.js'
import {
  createdView,
  createImageSchema,
  INTERFACE_LIMITS,
  queuedView,
  requireUsableModel,
  withPublicSampler,
} from './generate-schemas.js'

/** Spec 4.6. */
export function generateRoutes(app: App, ports: CreateImageApiPorts, createImages: CreateImages): void {
  app.post('/images/generate', { schema: createImageSchema }, async (request, reply) => {
    const { model: name, request: generation, omitted, webhookUrl } = request.body
    const asked = { request: generation, omitted, interfaceLimits: INTERFACE_LIMITS }
    const submission = (): Submission => ({
      lane: 'create_image',
      ...asked,
      model: async () => {
        const found = await ports.models.findByCreateImageModel(name, catalogRevisionOf(request, reply))
        return requireUsableModel(ports.abilities, name, found, asked)
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

/** More than the GPUs behind one server can draw while clients wait. */
const MAX_WAITING = 1000
const TOO_MANY_WAITING =
  'So many images are being waited for that the rate limit of this server is reached. Try again in 5 s.'

export interface WaitingOptions {
  readonly ports: CreateImageApiPorts
  /** How long a request waits for its images. */
  readonly timeoutSeconds: number
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
  /** How many requests may wait at once. */
  readonly maxWaiting?: number | undefined
}

export type CreateImages = ReturnType<typeof imageCreation>

/**
 * Makes the function that submits a generation and waits for its images, whose slugs it resolves to: in batch order,
 * without images that were removed since. All routes of the interface share one count of waiting requests.
 */
export function imageCreation({ ports, timeoutSeconds, leaving, maxWaiting = MAX_WAITING }: WaitingOptions) {
  let waiting = 0
  const ofAccounts = new Map<string, number>()
  const repeatOf = unansweredRepeats(ports.unanswered)

  /** @throws as submitGeneration and waitForImage; rate_limited when too many requests wait already */
  return async (request: FastifyRequest, reply: FastifyReply, submission: Parameters<typeof submitFor>[3]) => {
    // Before anything is charged. Nobody holds more places than are left for the others, who so always find one.
    const { id } = request.caller.account
    const own = ofAccounts.get(id) ?? 0
    if (own >= maxWaiting - waiting) throw new AppError('rate_limited', TOO_MANY_WAITING, { retryAfterSeconds: 5 })
    waiting++
    ofAccounts.set(id, own + 1)
    try {
      const gone = clientGone(request, reply)
      const repeat = submission.idempotency ? undefined : repeatOf(identityOf(request))
      const submitting = submitFor(request, reply, ports, { ...submission, unanswered: repeat?.first })
      void whenAborted(gone)
        .then(async () => {
          if (!reply.raw.writableFinished) await repeat?.leave(submitting)
        })
        .catch((err) => request.log.warn({ err }, 'a repeat of this request will be a new one'))
      const submitted = await submitting
      request.releaseSlot?.()
      const { slugs } = await waitForImage(ports, submitted, { timeoutSeconds, gone, leaving }).catch((error) => {
        const hasFailed = error instanceof AppError && error.code === 'generation_failed'
        throw hasFailed ? generationFailed(withPublicSampler(error.message)) : error
      })
      const [first, ...others] = slugs
      if (first === undefined) throw imageRemoved()
      return { submitted, slugs: [first, ...others] as const }
    } finally {
      waiting--
      const left = (ofAccounts.get(id) ?? 1) - 1
      if (left > 0) ofAccounts.set(id, left)
      else ofAccounts.delete(id)
    }
  }
}
