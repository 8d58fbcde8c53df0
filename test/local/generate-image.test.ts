import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import { afterEach, describe, expect, it } from 'vitest'
import { generateImage } from '../../src/local/demo.js'
import type { Stage } from '../../src/local/terminal.js'

type Answer = { status?: number; headers?: Record<string, string>; body: object | Buffer }

let server: Server | undefined
const interruption = new AbortController()

afterEach(() => {
  server?.close()
  server?.closeAllConnections()
})

/** A service that gives these answers in turn, each to one request. */
async function given(answers: (baseUrl: string) => Answer[]) {
  const requests: { method: string; path: string; headers: IncomingMessage['headers'] }[] = []
  const shown: Stage[] = []
  let left: Answer[] = []
  server = createServer((request, response) => {
    requests.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers })
    const { status = 200, headers = {}, body } = left.shift() ?? { status: 500, body: { error: 'asked too often' } }
    response.writeHead(status, headers).end(Buffer.isBuffer(body) ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  left = answers(baseUrl)
  const show = (stage: Stage) => shown.push(stage)
  const client = { baseUrl, key: 'easel_key', signal: interruption.signal, show }
  return {
    baseUrl,
    requests,
    shown,
    generate: (more: { unreachableMs?: number } = {}) =>
      generateImage({ ...client, ...more }, { prompt: 'a lighthouse at dusk', model_version_id: 12 }),
  }
}

const submitted = { status: 201, body: { id: 'gen_1', status: 'queued' } }

const refused = (status: number, code: string, error: string, headers = {}): Answer => ({
  status,
  headers: { 'x-error-code': code, ...headers },
  body: { error },
})

const events = (...told: [event: string, data: object][]): Answer => ({
  headers: { 'content-type': 'text/event-stream' },
  body: Buffer.from(told.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join('')),
})

const succeeded = (url: string): [string, object] => [
  'end',
  { id: 'gen_1', status: 'succeeded', output: { images: [{ url, id: 's' }], seed: 7 } },
]

describe('the demo’s client', () => {
  it('waits for an earlier generation, shows place and progress, and downloads the image', async () => {
    const png = await sharp({ create: { width: 16, height: 24, channels: 3, background: 'navy' } })
      .png()
      .toBuffer()
    const { requests, shown, generate } = await given((baseUrl) => [
      refused(429, 'active_generation', 'You already have an active generation (gen_0).', { 'retry-after': '1' }),
      submitted,
      events(
        ['status', { id: 'gen_1', status: 'queued', queue_position: 2 }],
        ['status', { id: 'gen_1', status: 'processing' }],
        ['progress', { progress: 0.43 }],
        succeeded(`${baseUrl}/cdn/s.png`),
      ),
      { body: png },
    ])
    expect(await generate()).toMatchObject({ slug: 's', seed: 7, width: 16, height: 24, png })
    expect(shown).toEqual([
      { text: 'Submitting' },
      { text: 'Waiting for an earlier generation to end' },
      { text: 'Queued, place 2' },
      { text: 'Drawing' },
      { text: 'Drawing', fraction: 0.43 },
      { text: 'Downloading' },
    ])
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      ...['POST /api/v1/generate', 'POST /api/v1/generate'],
      'GET /api/v1/generate/gen_1/events',
      'GET /cdn/s.png',
    ])
    const keys = requests.slice(0, 2).map(({ headers }) => headers['idempotency-key'])
    expect(keys[0]).toMatch(/.{16}/)
    expect(keys[1]).toBe(keys[0])
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      ...Array(3).fill('Bearer easel_key'),
      undefined,
    ])
  })

  it('asks a busy service again, and says meanwhile that it waits', async () => {
    const { shown, generate } = await given(() => [
      refused(503, 'unavailable', 'Not now.', { 'retry-after': '1' }),
      refused(402, 'insufficient_credits', 'Insufficient credits.'),
    ])
    await expect(generate()).rejects.toThrow('Insufficient credits.')
    expect(shown).toEqual([{ text: 'Submitting' }, { text: 'Waiting for the service' }])
  })

  it.each([
    [
      'why the generation failed, in the service’s own words',
      [submitted, events(['end', { id: 'gen_1', status: 'failed', error: 'No GPU has this model.' }])],
      /^The generation failed: No GPU has this model\.$/,
    ],
    [
      'why the service refused, in its own words',
      [refused(402, 'insufficient_credits', 'Insufficient credits.')],
      /^Insufficient credits\.$/,
    ],
    [
      'that something else than Easel answered',
      [{ status: 404, body: Buffer.from('<html>') }],
      /^http:.* answered 404, and not as Easel does: BASE_URL must lead to this server\.$/,
    ],
    [
      'that the URL gives no image',
      [submitted, events(succeeded('http://127.0.0.1:1/s.png'))],
      /^The image was made, but http:.*s\.png can't be fetched \(.+\): CDN_BASE_URL must lead to it\.$/,
    ],
  ] as const)('says %s', async (_what, answers, sentence) => {
    const { generate } = await given(() => [...answers])
    await expect(generate()).rejects.toThrow(sentence)
  })

  it('says that nobody answers', async () => {
    const { baseUrl, generate } = await given(() => [])
    server?.close()
    await expect(generate({ unreachableMs: 1 })).rejects.toThrow(
      `${baseUrl} doesn't answer (connect ECONNREFUSED ${new URL(baseUrl).host}): BASE_URL must lead to this server.`,
    )
  })
})
