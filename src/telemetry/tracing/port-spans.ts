/** Ports whose calls are spans. Each wrapper takes a port and returns one. */
import { SpanKind } from '@opentelemetry/api'
import type { Generation } from '../../core/generations/generation.js'
import type { Delivery, GenerationQueue } from '../../core/generations/ports.js'
import type { InferenceBackend } from '../../core/generations/run/backend.js'
import type { ClaimedGeneration } from '../../core/generations/run/ports.js'
import type { RunOutcome, RunPorts } from '../../core/generations/run/run.js'
import type { SubmitPorts, Verdict } from '../../core/generations/submit/ports.js'
import type { ImageStore } from '../../core/images/ports.js'
import type { WebhookSender } from '../../core/webhooks/ports.js'
import type { SendOutcome } from '../../core/webhooks/webhook.js'
import { contextOf, inSpan, traceparentNow, tracer } from './span.js'

const ofGeneration = ({ id, filename }: Pick<Generation, 'id' | 'filename'>) => ({
  'easel.generation_id': id,
  'easel.model': filename,
})

type Submits = Pick<SubmitPorts, 'moderator' | 'lock' | 'submissions' | 'queue'>

/** The stages of a submit. Its trace goes on wherever the generation is run. */
export const tracedSubmits = <Ports extends Submits>(ports: Ports): Ports => ({
  ...ports,
  moderator: {
    ...ports.moderator,
    review: (text) => {
      const tell = ({ flagged }: Verdict) => ({ 'easel.flagged': flagged })
      return inSpan('moderate prompt', { attributes: {}, tell }, () => ports.moderator.review(text))
    },
  },
  lock: {
    ...ports.lock,
    acquire: (...given) => inSpan('take lock', { attributes: {} }, () => ports.lock.acquire(...given)),
  },
  submissions: {
    ...ports.submissions,
    insert: (generation, options) => {
      const stored = { ...generation, traceparent: traceparentNow() }
      const attributes = ofGeneration(generation)
      return inSpan('store generation', { attributes }, () => ports.submissions.insert(stored, options))
    },
  },
  queue: tracedQueue(ports.queue),
})

const tracedQueue = (queue: GenerationQueue): GenerationQueue => ({
  ...queue,
  enqueue: (deliveries) => {
    const [first] = deliveries
    const tell = (enqueued: boolean) => ({ 'easel.enqueued': enqueued })
    const attributes = { 'easel.jobs': deliveries.length, ...(deliveries.length === 1 && attributesOf(first)) }
    return inSpan('enqueue generation', { attributes, tell }, () => queue.enqueue(deliveries))
  },
})

const attributesOf = (delivery: Delivery | undefined) => ({
  'easel.generation_id': delivery?.id,
  'easel.attempt': delivery?.attempt,
})

/** A worker's attempts, each within the trace of its generation's submit. */
export const tracedRuns = <Ports extends RunPorts>(ports: Ports, worker: string): Ports => ({
  ...ports,
  runs: {
    ...ports.runs,
    async claim(by, ...given) {
      const startTime = Date.now()
      const claimed = await ports.runs.claim(by, ...given)
      // Only now is it known whose time it was.
      if (claimed)
        tracer.startSpan('claim generation', { startTime, attributes: ofAttempt(claimed) }, contextOf(claimed)).end()
      return claimed
    },
    succeed: (generation, images) =>
      inSpan('record success', { attributes: {} }, () => ports.runs.succeed(generation, images)),
  },
  images: tracedImages(ports.images),
  around(generation, backend, work) {
    const attributes = { ...ofAttempt(generation), 'easel.worker': worker, 'easel.backend': backend }
    const tell = (outcome: RunOutcome) => ({
      'easel.outcome': typeof outcome === 'object' ? 'backend_down' : outcome,
    })
    return inSpan('run attempt', { attributes, kind: SpanKind.CONSUMER, parent: contextOf(generation), tell }, work)
  },
})

const ofAttempt = (generation: ClaimedGeneration) => ({
  ...ofGeneration(generation),
  'easel.attempt': generation.attempt,
})

const tracedImages = (images: ImageStore): ImageStore => ({
  ...images,
  put: (slug, png, options) =>
    inSpan('store image', { attributes: { 'easel.bytes': png.length } }, () => images.put(slug, png, options)),
})

export const tracedBackend = (backend: InferenceBackend): InferenceBackend => ({
  ...backend,
  generate: (request, options) => {
    const attributes = { 'easel.backend': backend.name, 'easel.model': request.model }
    return inSpan('draw', { attributes, kind: SpanKind.CLIENT }, () => backend.generate(request, options))
  },
})

export const tracedSender = (sender: WebhookSender): WebhookSender => ({
  send(delivery, body, signal) {
    const { type, attempts, endpointId, generationId } = delivery
    const attributes = {
      ...(generationId !== null && { 'easel.generation_id': generationId }),
      ...{ 'easel.webhook.endpoint_id': endpointId, 'easel.webhook.type': type, 'easel.webhook.try': attempts },
    }
    const tell = (outcome: SendOutcome) => ({
      ...(outcome.status !== undefined && { 'http.response.status_code': outcome.status }),
      ...(!outcome.delivered && { 'error.type': outcome.fault }),
    })
    const options = { attributes, kind: SpanKind.CLIENT, parent: contextOf(delivery), tell }
    return inSpan('deliver webhook', options, () => sender.send(delivery, body, signal))
  },
})
