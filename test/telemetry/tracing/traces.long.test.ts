import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { call, endOf } from '../../support/client.js'
import { patientDatabase } from '../../support/database.js'
import { freePort } from '../../support/free-port.js'
import { givenUser } from '../../support/givens.js'
import { givenCollector, type ReceivedSpan } from '../../support/otlp-collector.js'
import { startServerProcess } from '../../support/server-process.js'
import { redisAvailable, redisUrl } from '../../support/services.js'
import { until } from '../../support/until.js'
import { givenReceiver } from '../../support/webhook-receiver.js'
import { startWorkerProcess } from '../../support/worker-process.js'

const CANARY = 'quokkaverb'
const linesOf = (log: string): Record<string, unknown>[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

it('one trace leads from the caller’s span through server and worker to the webhook, and each outage of the collector is logged once', async () => {
  const port = await freePort()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=easel',
    OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  }
  const generous = { RATE_LIMIT_MAX: '1000', WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' }
  const server = await startServerProcess({ ...env, ...generous, OTEL_BSP_SCHEDULE_DELAY: '100' })
  onTestFinished(() => server.stop())
  const db = patientDatabase(server.databaseUrl, 2)
  onTestFinished(() => db.pool.end())
  const user = await givenUser(db)

  // Nobody listens yet, and then who listens takes nothing: requests are served, and one line tells it.
  const told = () => linesOf(server.readLog()).filter(({ msg }) => String(msg).startsWith('traces '))
  const look = async () => {
    expect((await call(server.url, 'GET', '/api/v1/account', { key: user.key })).status).toBe(200)
  }
  await look()
  await until(() => told().length > 0, 'the line')
  const collector = await givenCollector(port)
  collector.status = 500
  for (let sent = 1; sent <= 2; sent++) {
    await look()
    await until(() => collector.requests.length >= sent, 'the next spans')
  }
  collector.status = 200
  expect(told()).toMatchObject([{ msg: 'traces cannot be sent and are dropped', reason: expect.any(String) }])

  // Only what its stop sends: the next time to send would be in a minute.
  const worker = await startWorkerProcess(
    {
      ...{
        databaseUrl: server.databaseUrl,
        storage: { kind: 'file', path: server.storagePath } as const,
        baseUrl: server.url,
      },
      redisUrl: redisAvailable ? await redisUrl() : undefined,
    },
    { ...env, OTEL_EXPORTER_OTLP_TIMEOUT: '5000', OTEL_BSP_SCHEDULE_DELAY: '60000' },
  )
  onTestFinished(() => worker.kill('SIGKILL'))
  const hook = await givenReceiver()
  await call(server.url, 'POST', '/api/v1/webhooks', { key: user.key, body: { url: hook.url } })
  const [traceId, callersSpan] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  const { body, headers } = await call(server.url, 'POST', '/api/v1/generate', {
    key: user.key,
    body: { prompt: CANARY, model_version_id: 10, width: 256, height: 256 },
    headers: { traceparent: `00-${traceId}-${callersSpan}-01`, baggage: `secret=${CANARY}` },
  })
  expect(await endOf(server, user, body.id)).toMatchObject({ status: 'succeeded' })
  await hook.nth(1)
  worker.kill('SIGTERM')
  expect(await worker.ended).toBe(0)

  const ofTrace = () => collector.spans.filter((span) => span.traceId === traceId)
  await until(() => ofTrace().some(({ name }) => name === 'deliver webhook'), 'the span of the webhook')
  const spans = ofTrace()
  if (process.env.SHOW_FIGURES) console.log(spans.map(({ service, name }) => `${service}: ${name}`).join('\n'))
  const named = (name: string) => spans.find((span) => span.name === name) as ReceivedSpan
  expect(spans.map(({ service, name }) => `${service}: ${name}`)).toEqual(
    expect.arrayContaining([
      ...['POST /api/v1/generate', 'moderate prompt', 'take lock', 'store generation'].map(
        (it) => `easel-server: ${it}`,
      ),
      ...['enqueue generation', 'add generations.job', 'deliver webhook'].map((it) => `easel-server: ${it}`),
      ...['claim generation', 'run attempt', 'draw', 'store image', 'record success'].map(
        (it) => `easel-worker: ${it}`,
      ),
      'easel-worker: process generations',
    ]),
  )
  // Each hangs on another one of them, and the first on the caller's.
  const ids = new Set([callersSpan, ...spans.map(({ spanId }) => spanId)])
  expect(spans.filter(({ parentSpanId }) => !ids.has(parentSpanId ?? ''))).toEqual([])
  expect(named('POST /api/v1/generate')).toMatchObject({
    parentSpanId: callersSpan,
    attributes: {
      ...{ 'http.route': '/api/v1/generate', 'http.response.status_code': 201 },
      ...{ 'easel.request_id': headers.get('x-request-id'), 'easel.generation_id': body.id },
    },
  })
  expect(named('run attempt').attributes).toMatchObject({
    ...{ 'easel.generation_id': body.id, 'easel.backend': 'preview:', 'easel.outcome': 'succeeded' },
  })
  expect(named('draw').parentSpanId).toBe(named('run attempt').spanId)

  // The same IDs in the lines of both processes.
  const ids2 = { trace_id: traceId, requestId: headers.get('x-request-id'), generationId: body.id }
  const line = (log: string, msg: string) => linesOf(log).find((it) => it.msg === msg && it.trace_id === traceId)
  expect(line(server.readLog(), 'request answered')).toMatchObject(ids2)
  expect(line(worker.readLog(), 'generation succeeded')).toMatchObject(ids2)

  expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-tenant': 'easel' } })
  expect(collector.bodies[0]).toContain('deployment.environment.name')
  // Neither what was asked for nor what nobody asked for: keys, prompts, polls of the queue, probes.
  for (const absent of [CANARY, user.key, 'getNextJob', '/ready']) {
    const found = collector.bodies.filter((text) => text.includes(absent))
    expect([absent, found.map((text) => text.slice(0, 2000))]).toEqual([absent, []])
  }
  expect(told().map(({ msg }) => msg)).toEqual(['traces cannot be sent and are dropped', 'traces are sent again'])
})
