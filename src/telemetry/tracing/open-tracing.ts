/**
 * Traces by OpenTelemetry. Only run-process.ts loads this folder, and only where a collector is named; the SDK reads the
 * other OTEL_ variables itself.
 */
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { SpanKind, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node'
import { BullMQOtel } from 'bullmq-otel'
import { HttpsProxyAgent } from 'https-proxy-agent'
import { getProxyForUrl } from 'proxy-from-env'
import type { Log } from '../../core/log.js'
import { reasonOf } from '../../lib/causes.js'
import { proxyFor } from '../../lib/no-proxy.js'
import { tracedBackend, tracedRuns, tracedSender, tracedSubmits, traceRequests } from './spans.js'

/** What the wiring wraps in spans. No span has a prompt, a key, or the message of an error. */
export type Tracing = ReturnType<typeof openTracing>

/** Of a stop that waits for the last spans to be sent. */
const STOP_MS = 2000

/** For every line of the log: which trace it belongs to. */
export function traceFacts(): object {
  const span = trace.getActiveSpan()?.spanContext()
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
}

/** @param name of the process; OTEL_SERVICE_NAME wins over it @param url where the collector takes traces */
export function openTracing(name: string, url: string, log: Log) {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': `easel-${name}` }))
    .merge(detectResources({ detectors: [envDetector] }))
  const processor = new WithoutIdleWork(telling(new OTLPTraceExporter({ url, ...throughProxy(url) }), url, log))
  // Only BullMQ adds events to its spans, with the messages of errors in them.
  const spanLimits = { eventCountLimit: 0 }
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor], spanLimits })
  provider.register()
  return {
    requests: traceRequests,
    submits: tracedSubmits,
    runs: tracedRuns,
    backend: tracedBackend,
    sender: tracedSender,
    /** For BullMQ. */
    telemetry: new BullMQOtel({ tracerName: BULLMQ }),
    /** Sends the last spans, if that is possible soon; called once. */
    stop: () => Promise.race([provider.shutdown(), delay(STOP_MS, undefined, { ref: false })]).catch(() => undefined),
  }
}

/** A collector over http:// is in a network of ours. */
function throughProxy(url: string) {
  const proxy = proxyFor(url, getProxyForUrl)
  if (!proxy) return {}
  return { httpAgentOptions: (protocol: string) => (protocol === 'https:' ? new HttpsProxyAgent(proxy) : new Agent()) }
}

const BULLMQ = 'bullmq'

/** BullMQ looks for jobs all the time, and each look would be a trace of its own. */
class WithoutIdleWork extends BatchSpanProcessor {
  override onEnd(span: ReadableSpan): void {
    const isIdleWork =
      span.instrumentationScope.name === BULLMQ && span.kind === SpanKind.INTERNAL && !span.parentSpanContext
    if (!isIdleWork) super.onEnd(span)
  }
}

/** The usual port of OTLP over gRPC, which also answers HTTP, with what nobody can read. */
const GRPC_PORT = '4317'
const HINT = 'Easel sends OTLP over HTTP: name the port of the collector for that, which is usually 4318'

/** Logs one line when the collector gets nothing any more, and one when it does again. */
function telling(exporter: OTLPTraceExporter, url: string, log: Log): SpanExporter {
  const hint = new URL(url).port === GRPC_PORT ? { hint: HINT } : {}
  let away = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const failed = result.code !== 0
        if (failed && !away)
          log.warn({ reason: reasonOf(result.error), ...hint }, 'traces cannot be sent and are dropped')
        if (!failed && away) log.info({}, 'traces are sent again')
        away = failed
        done(result)
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
}
