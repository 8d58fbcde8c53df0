import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { parseConfig } from '../../src/process/config.js'
import { useProxy } from '../../src/process/proxy.js'
import { call, PROMPT } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { givenUser } from '../support/givens.js'
import { startServerProcess } from '../support/server-process.js'
import { createTestDatabase } from '../support/services.js'
import { until } from '../support/until.js'
import { givenReceiver } from '../support/webhook-receiver.js'
import { startWorkerProcess } from '../support/worker-process.js'

/** A proxy that leads every http:// request to this port, and refuses tunnels. */
async function givenProxy(port: number) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const { pathname } = new URL(request.url as string)
    const { method, headers } = request
    const onward = forward({ port, path: pathname, method, headers }, (answer) => {
      response.writeHead(answer.statusCode as number, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  server.on('connect', ({ url }, socket) => {
    asked.push(`CONNECT ${url}`)
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

const ALLOWED = { results: [{ flagged: false, categories: {} }] }

it('what a server asks of the operator’s own endpoints goes through the proxy, and webhooks do not', async () => {
  const moderation = await givenReceiver((response) => response.end(JSON.stringify(ALLOWED)))
  const hook = await givenReceiver()
  const proxy = await givenProxy(moderation.port)
  const server = await startServerProcess({
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    MODERATION_URL: 'http://moderation.example/v1/moderations',
    OIDC_ISSUER: 'https://idp.example',
    OIDC_CLIENT_ID: 'easel',
    OIDC_CLIENT_SECRET: 'secret',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    STORAGE_URL: 's3://easel-images',
    S3_ENDPOINT: 'https://store.example',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1',
  })
  onTestFinished(() => server.stop())
  const db = patientDatabase(server.databaseUrl, 1)
  onTestFinished(() => db.pool.end())
  const { key } = await givenUser(db)
  const checked = await call(server.url, 'POST', '/api/v1/moderate', { key, body: { prompt: 'a lighthouse' } })
  expect(checked.body).toMatchObject({ flagged: false })
  expect(moderation.received).toHaveLength(1)
  await fetch(`${server.url}/sign-in/oidc`, { redirect: 'manual' })
  const made = await call(server.url, 'POST', '/api/v1/webhooks', {
    key,
    body: { url: hook.url.replace('127.0.0.1', 'localhost'), events: ['generation.failed'] },
  })
  expect(made.status).toBe(201)
  const { body } = await call(server.url, 'POST', '/api/v1/generate', { key, body: PROMPT })
  await call(server.url, 'POST', `/api/v1/generate/${body.id}/cancel`, { key })
  await hook.nth(1)
  const hosts = () => new Set(proxy.asked)
  await until(() => hosts().has('CONNECT collector.example:443'), 'traces')
  expect(hosts()).toEqual(
    new Set([
      'POST http://moderation.example/v1/moderations',
      'CONNECT idp.example:443',
      'CONNECT store.example:443',
      'CONNECT collector.example:443',
    ]),
  )
})

it('GPU servers over https:// are reached through the proxy, others and those of NO_PROXY without', async () => {
  const gpu = await givenReceiver(404)
  const proxy = await givenProxy(gpu.port)
  const { url: databaseUrl } = await createTestDatabase()
  const { storage } = parseConfig({ DATABASE_URL: databaseUrl })
  const worker = await startWorkerProcess(
    { databaseUrl, redisUrl: undefined, storage, baseUrl: 'http://easel.test' },
    {
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
      NO_PROXY: '.inside.example',
      STORAGE_URL: `file:${await mkdtemp(join(tmpdir(), 'easel-proxy-'))}`,
      INFERENCE_URL: [
        'a1111+https://gpu.example',
        'comfyui+https://other.example',
        'a1111+https://gpu.inside.example',
        `a1111+http://127.0.0.1:${gpu.port}`,
      ].join(','),
    },
  )
  onTestFinished(() => worker.ended.then(() => undefined))
  onTestFinished(() => worker.kill('SIGKILL'))
  await until(() => gpu.received.length > 0, 'a GPU server of this machine')
  const hosts = () => [...new Set(proxy.asked)].sort()
  await until(() => hosts().length > 1, 'both servers')
  expect(hosts()).toEqual(['CONNECT gpu.example:443', 'CONNECT other.example:443'])
})

it('a lone % in the password of a proxy is named', async () => {
  vi.stubEnv('HTTPS_PROXY', 'http://me:100%@proxy.example:3128')
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(useProxy(process.env)).rejects.toThrow(
    /^HTTPS_PROXY or HTTP_PROXY has a % in its user or password that stands for nothing: write it as %25\.$/,
  )
})
