import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { FastifyRequest } from 'fastify'
import type { Generation } from '../../core/generations/generation.js'
import type { Delivery, GenerationQueue } from '../../core/generations/ports.js'
import type { InferenceBackend } from '../../core/generations/run/backend.js'
import type { ClaimedGeneration } from '../../core/generations/run/ports.js'
import type { RunOutcome, RunPorts } from '../../core/generations/run/run.js'
import type { SubmitPorts, Verdict } from '../../core/generations/submit/ports.js'
import type { ImageStore } from '../../core/images/ports.js'
import type { WebhookSender } from '../../core/webhooks/ports.js'
import type { SendOutcome } from '../../core/webhooks/webhook.js'
import type { App } from '../../http/shared/fastify-app.js'

const tracer = trace.getTracer('easel')

/** The context that the `traceparent` of a generation names: that of its submit, in whatever process that was. */
const contextOf = ({ traceparent }: { readonly traceparent?: string | null | undefined }): Context =>
  traceparent ? propagation.extract(ROOT_CONTEXT, { traceparent }) : ROOT_CONTEXT

/** Of what runs now; undefined outside of any span. */
function traceparentNow(): string | undefined {
  const carrier: { traceparent?: string } = {}
  propagation.inject(context.active(), carrier)
  return carrier.traceparent
}

interface SpanOptions {
  readonly attributes: Attributes
  readonly kind?: SpanKind
  /** Unless it belongs to what runs now. */
  readonly parent?: Context
  /** Attributes of a result. */
  readonly tell?: (result: never) => Attributes
}

/** Runs `work` in a span. An error is told by its kind alone: messages may repeat a prompt. */
async function inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  const { attributes, kind = SpanKind.INTERNAL, parent = context.active(), tell } = options
  const span = tracer.startSpan(name, { attributes, kind }, parent)
  try {
    const result = await context.with(trace.setSpan(parent, span), work)
    if (tell) span.setAttributes(tell(result as never))
    return result
  } catch (error) {
    span.setAttribute('error.type', kindOf(error)).setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}

/** Of our own errors the kind or code, of Node's and Postgres's the code. */
function kindOf(error: unknown): string {
  const { kind, code, name } = (error ?? {}) as Record<string, unknown>
  return String(kind ?? code ?? name ?? 'unknown')
}

/** Ports whose calls are spans. Each wrapper takes a port and returns one. */
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

/**
 * A span for each request, within the caller's trace if it names one; call it before all other hooks and routes. The
 * target is told as its route, since paths and queries are what people write.
 */
export function traceRequests(app: App): void {
  const contexts = new WeakMap<FastifyRequest, Context>()
  const resume = (request: FastifyRequest, next: () => void) =>
    context.with(contexts.get(request) ?? context.active(), next)

  app.addHook('onRequest', (request, reply, next) => {
    const { method, id, routeOptions } = request
    // Probes come every few seconds and tell nothing.
    if (routeOptions.config.alwaysServed) return next()
    const route = routeOptions.url ?? 'none'
    // A stranger's baggage would travel on.
    const caller = propagation.deleteBaggage(propagation.extract(ROOT_CONTEXT, request.headers))
    const attributes = { 'http.request.method': method, 'http.route': route, 'easel.request_id': id }
    const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, caller)
    contexts.set(request, trace.setSpan(caller, span))
    // Later than the log's line, and also if the client hangs up.
    reply.raw.once('close', () => {
      span.setAttribute('http.response.status_code', reply.statusCode)
      if (request.generationId) span.setAttribute('easel.generation_id', request.generationId)
      if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    })
    resume(request, next)
  })
  // The events of the socket, with which a body and an end come, know nothing of the context.
  app.addHook('preValidation', (request, _reply, next) => resume(request, next))
  app.addHook('onResponse', (request, _reply, next) => resume(request, next))
}
