/** What receives traces: a real OTLP/HTTP endpoint that keeps the spans it was sent. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export interface ReceivedSpan {
  readonly service: string
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  /** 2 is an error. */
  readonly status: { readonly code?: number }
  readonly attributes: Readonly<Record<string, unknown>>
}

interface OtlpAttribute {
  readonly key: string
  readonly value: object
}

/** Closed when the test ends. `bodies`: what it took, as it came; `status`: with which it answers. */
export async function givenCollector(port: number) {
  const spans: ReceivedSpan[] = []
  const bodies: string[] = []
  const requests: { path: string | undefined; headers: IncomingHttpHeaders }[] = []
  const answer = { status: 200 }
  const server = createServer(async (request, response) => {
    const text = await readText(request)
    requests.push({ path: request.url, headers: request.headers })
    if (answer.status !== 200) return void response.writeHead(answer.status).end()
    bodies.push(text)
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
      const service = valuesOf(resource.attributes)['service.name'] as string
      for (const { spans: sent } of scopeSpans)
        for (const span of sent) spans.push({ ...span, service, attributes: valuesOf(span.attributes) })
    }
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(answer, { spans, bodies, requests })
}

const valuesOf = (attributes: readonly OtlpAttribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
