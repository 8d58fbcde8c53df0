/** Whether a process should get work, and why not; and METRICS_PORT, where operators and their tools ask for it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { setTimeout as after } from 'node:timers/promises'
import type { Log } from '../core/log.js'
import { snapshot } from '../lib/batch.js'
import type { Metrics } from '../telemetry/metrics/open-metrics.js'
import type { Config } from './config.js'

export interface ReadyCheck {
  /** If it fails twice in a row, the process is not ready. Others tell of a worse service, of all processes alike. */
  readonly vital: boolean
  /** What is wrong, as one sentence; undefined: nothing. */
  readonly problem: () => Promise<string | undefined> | string | undefined
}

interface Readiness {
  /** False: a vital check has failed twice, or the process is leaving. */
  readonly ready: boolean
  /** What is wrong, by check; undefined where nothing is. */
  readonly problems: Readonly<Record<string, string | undefined>>
}

/** The checks' results are used for this long: however many ask, Postgres and Redis are asked once. */
const CHECKS_FRESH_MS = 1000
/** A health check should not wait for the time-outs of what hangs. */
const WITHIN_MS = 2000

const DRAINING = 'This process is shutting down: it only finishes what it has begun, so give it no new work.'

/**
 * A process that is ready stays so until a vital check has failed twice in a row: a single one may only have been late on
 * a busy machine, and a proxy whose other server is being restarted would have nowhere to send requests.
 * @param isLeaving asked each time, so that a shutdown shows at once
 */
export function readiness(checks: Readonly<Record<string, ReadyCheck>>, isLeaving: () => boolean) {
  const timed = Object.entries(checks).map(([name, { problem }]) => [name, inTime(name, problem)] as const)
  let failing = true
  const check = async (): Promise<Readiness> => {
    const found = await Promise.all(timed.map(async ([name, run]) => [name, await run()] as const))
    const failed = failing
    failing = found.some(([name, problem]) => checks[name]?.vital && problem !== undefined)
    return { ready: !(failing && failed), problems: Object.fromEntries(found) }
  }
  const checked = snapshot(check, { freshMs: CHECKS_FRESH_MS })

  return async () => {
    // Without waiting for a check: a proxy must know it before the port closes.
    const { ready, problems } = isLeaving() ? { ready: false, problems: {} } : await checked()
    if (isLeaving()) return { ready: false, problems: { ...problems, draining: DRAINING } }
    return { ready, problems }
  }
}

type Ready = ReturnType<typeof readiness>

/** Adds a time limit; one call runs at a time, even if it hangs. */
function inTime(name: string, problem: ReadyCheck['problem']): () => Promise<string | undefined> {
  let pending: Promise<string | undefined> | undefined
  const late = `The check of ${name} had no answer within ${WITHIN_MS / 1000} s.`
  return () => {
    pending ??= Promise.resolve()
      .then(problem)
      .catch(() => `The check of ${name} failed.`)
      .finally(() => {
        pending = undefined
      })
    return Promise.race([pending, after(WITHIN_MS, late, { ref: false })])
  }
}

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
  const answerTo = async ({ method, url: asked = '' }: IncomingMessage): Promise<Answer> => {
    const url = asked.replace(/\/?(?:\?.*)?$/, '')
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

/** `degraded`: no vital check fails for the second time; work is welcome. */
async function readyAnswer(ready: Ready): Promise<Answer> {
  const { ready: isReady, problems } = await ready()
  const checks = Object.fromEntries(Object.entries(problems).map(([name, problem]) => [name, problem ?? 'ok']))
  const isDegraded = Object.values(problems).some((problem) => problem !== undefined)
  if (!isReady) return json(503, { status: 'unavailable', checks })
  return json(200, { status: isDegraded ? 'degraded' : 'ready', checks })
}
