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

export const tracer = trace.getTracer('easel')

/** The context that the `traceparent` of a generation names: that of its submit, in whatever process that was. */
export const contextOf = ({ traceparent }: { readonly traceparent?: string | null | undefined }): Context =>
  traceparent ? propagation.extract(ROOT_CONTEXT, { traceparent }) : ROOT_CONTEXT

/** Of what runs now; undefined outside of any span. */
export function traceparentNow(): string | undefined {
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
export async function inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
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
