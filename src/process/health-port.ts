/** What operators and their tools ask of a process, on METRICS_PORT: whether it lives, whether it should get work, its metrics. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { Log } from '../core/log.js'
import type { Metrics } from '../telemetry/metrics/open-metrics.js'
import type { Config } from './config.js'
import type { Ready } from './readiness.js'

interface Answer {
  readonly status: number
  readonly type?: string
  readonly body: string
}

const json = (status: number, body: object): Answer => ({ status, body: JSON.stringify(body) })

/**
 * Answers GET /health (200), /ready (503 unless ready; says which check fails) and /metrics on METRICS_PORT, if set.
 * @returns what closes it
 */
export async function openHealthPort(
  { host, metricsPort }: Config,
  log: Log,
  ready: Ready,
  metrics: Metrics | undefined,
) {
  if (metricsPort === undefined) return async () => undefined
  const answerTo = async ({ method, url }: IncomingMessage): Promise<Answer> => {
    if (method === 'GET' || method === 'HEAD') {
      if (url === '/health') return json(200, { status: 'ok' })
      if (url === '/ready') return readyAnswer(ready)
      if (url === '/metrics' && metrics) return { status: 200, type: metrics.contentType, body: await metrics.text() }
    }
    return json(404, { error: 'No such endpoint: GET /health, /ready or /metrics.' })
  }
  const onError = (err: unknown): Answer => {
    log.error({ err }, 'a request to METRICS_PORT failed')
    return json(500, { error: 'Internal error: the log says which.' })
  }
  const server = createServer(async (request, response) => {
    const { status, type = 'application/json; charset=utf-8', body } = await answerTo(request).catch(onError)
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  server.listen(metricsPort, host)
  await once(server, 'listening')
  return async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
}

/** `degraded`: work is still welcome. */
async function readyAnswer(ready: Ready): Promise<Answer> {
  const { ready: isReady, problems } = await ready()
  const checks = Object.fromEntries(Object.entries(problems).map(([name, problem]) => [name, problem ?? 'ok']))
  const isDegraded = Object.values(problems).some((problem) => problem !== undefined)
  if (!isReady) return json(503, { status: 'unavailable', checks })
  return json(200, { status: isDegraded ? 'degraded' : 'ready', checks })
}
