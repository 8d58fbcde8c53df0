/** A service whose metrics are looked at, and what happens in it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { type Metrics, openMetrics } from '../../../src/telemetry/metrics/open-metrics.js'
import { startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../../support/client.js'
import { givenWebhook, INSIDE } from '../../support/given-webhook.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { startService } from '../../support/service.js'
import { until } from '../../support/until.js'

/** In every prompt, and nowhere else. */
const CANARY = 'quokkaverb'
const SMALL = { width: 256, height: 256, steps: 1 }
const USERS = 8
/** Of the model versions 10 and 1. */
const MODELS = ['ponyDiffusionV6XL.safetensors', 'noobaiXL_v11.safetensors']
export const MAX_REQUESTS = 100

export const openedMetrics = (process: 'server' | 'worker'): Metrics => openMetrics({ process, version: 'test' })
export const scrape = async (port: number) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()

export const submit = (url: string, { key }: GivenUser, more: object = {}) =>
  call(url, 'POST', '/api/v1/generate', {
    key,
    body: { ...PROMPT, ...SMALL, prompt: `${CANARY} at dusk`, ...more },
  })

export type Observed = Awaited<ReturnType<typeof startObserved>>

/** @param own its Redis and namespace, unless they are those of the file */
export async function startObserved(
  metricsPort: number,
  own?: { readonly redisUrl: string; readonly namespace: string },
) {
  /** How moderation endpoint and receiver of webhooks answer. */
  const outside = { status: 200, url: '' }
  const outsideServer = createServer((_request, response) => {
    response.writeHead(outside.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ results: [{ flagged: false, categories: {} }] }))
  }).listen(0, '127.0.0.1')
  await once(outsideServer, 'listening')
  outside.url = `http://127.0.0.1:${(outsideServer.address() as AddressInfo).port}`
  const gpu = await startA1111StandIn({ models: MODELS, latencyMs: 20 })
  const service = await startService({
    ...(own && { redis: false }),
    env: {
      ...{ ...INSIDE, METRICS_PORT: `${metricsPort}`, MODERATION_URL: `${outside.url}/moderations` },
      ...{ RATE_LIMIT_MAX: `${MAX_REQUESTS}`, RATE_LIMIT_WINDOW_SECONDS: '3600' },
      ...(own && { REDIS_URL: own.redisUrl }),
    },
    server: {
      ...(own && { namespace: own.namespace }),
      metrics: openedMetrics('server'),
      auditTimes: { firstAfterMs: 0, pollEveryMs: 200, everyMs: 1000, limitMs: 60_000 },
    },
  })
  const users: GivenUser[] = []
  for (let n = 0; n < USERS; n++) users.push(await givenUser(service.db))
  await givenWebhook(service, users[0] as GivenUser, `${outside.url}/hook`)
  return {
    ...{ service, gpu, outside, users },
    async close() {
      await service.close()
      await gpu.close()
      outsideServer.closeAllConnections()
      outsideServer.close()
    },
  }
}

/** One of each thing that is counted while all is well: of three users, the first of whom has a webhook. */
export async function letThingsHappen({ service, gpu, users }: Observed): Promise<void> {
  const [one, two, three] = users as [GivenUser, GivenUser, GivenUser]
  for (const model of [10, 1]) {
    const { body } = await submit(service.url, one, { model_version_id: model })
    expect(await endOf(service, one, body.id)).toMatchObject({ status: 'succeeded' })
  }
  await submit(service.url, two, { prompt: '' })
  await submit(service.url, two, { prompt: `${CANARY} bestiality` })
  gpu.set({ held: true })
  const asked = gpu.asked().length
  const { body } = await submit(service.url, two)
  await submit(service.url, two)
  await until(() => gpu.asked().length > asked, 'the GPU server being asked for it')
  await call(service.url, 'POST', `/api/v1/generate/${body.id}/cancel`, { key: two.key })
  gpu.set({ held: false })
  await call(service.url, 'GET', `/no/${CANARY}`)
  for (let n = 0; n < MAX_REQUESTS + 2; n++) await call(service.url, 'GET', '/api/v1/account', { key: three.key })
}

/** How many webhooks a server has delivered, as its metrics tell. */
export const deliveredBy = async (port: number) =>
  Number(/webhook_tries_total\{result="delivered"\} (\d+)/.exec(await scrape(port))?.[1] ?? 0)

/** What no label may hold: a prompt, a key, an ID or a name. */
export const secretsOf = ({ users }: Observed) =>
  new RegExp([CANARY, 'easel_[0-9A-Za-z]{36}', 'gen_', ...users.map(({ username }) => username)].join('|'))
