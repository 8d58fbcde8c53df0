import { type Context, context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { FastifyRequest } from 'fastify'
import type { App } from '../../http/shared/fastify-app.js'
import { tracer } from './span.js'

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
