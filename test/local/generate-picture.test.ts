import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import { afterEach, describe, expect, it } from 'vitest'
import { generatePicture } from '../../src/local/generate-picture.js'
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
  const client = { baseUrl, key: 'easel_key', signal: interruption.signal, show: (stage: Stage) => shown.push(stage) }
  return { requests, shown, generate: () => generatePicture(client, 'a lighthouse at dusk', 12, 'once') }
}

const submitted = { status: 201, body: { id: 'gen_1', status: 'queued' } }

describe('generatePicture', () => {
  it('waits for an earlier generation, shows place and progress, and fetches the picture', async () => {
    const png = await sharp({ create: { width: 16, height: 24, channels: 3, background: 'navy' } })
      .png()
      .toBuffer()
    const { requests, shown, generate } = await given((baseUrl) => [
      {
        status: 429,
        headers: { 'retry-after': '1' },
        body: { error: 'You already have an active generation (gen_0).' },
      },
      submitted,
      { body: { id: 'gen_1', status: 'queued', queue_position: 2 } },
      { headers: { 'x-progress': '0.43' }, body: { id: 'gen_1', status: 'processing' } },
      {
        body: {
          id: 'gen_1',
          status: 'succeeded',
          output: { images: [{ url: `${baseUrl}/cdn/s.png`, id: 's' }], seed: 7 },
        },
      },
      { body: png },
    ])
    const began = performance.now()
    expect(await generate()).toMatchObject({ slug: 's', seed: 7, width: 16, height: 24, png })
    expect(performance.now() - began).toBeGreaterThan(1000)
    expect(shown).toEqual([
      { text: 'Submitting' },
      { text: 'Waiting for an earlier generation to end' },
      { text: 'Queued, place 2' },
      { text: 'Drawing', fraction: 0.43 },
      { text: 'Downloading' },
    ])
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      ...['POST /api/v1/generate', 'POST /api/v1/generate'],
      ...Array(3).fill('GET /api/v1/generate/gen_1'),
      'GET /cdn/s.png',
    ])
    expect(requests.slice(0, 2).map(({ headers }) => headers['idempotency-key'])).toEqual(['once', 'once'])
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      ...Array(5).fill('Bearer easel_key'),
      undefined,
    ])
  })

  it.each([
    [
      "the service's own reason for a failure",
      [submitted, { body: { id: 'gen_1', status: 'failed', error: 'No GPU has this model.' } }],
      'The generation failed: No GPU has this model.',
    ],
    ['its own words of refusal', [{ status: 402, body: { error: 'Insufficient credits.' } }], 'Insufficient credits.'],
    [
      'who answered instead',
      [{ status: 404, body: Buffer.from('<html>') }],
      /^http:.* answered 404, and not as Easel does: BASE_URL must lead to this server\.$/,
    ],
    [
      'that the URL gives no picture',
      [
        submitted,
        { body: { status: 'succeeded', output: { images: [{ url: 'http://127.0.0.1:1/s.png', id: 's' }], seed: 7 } } },
      ],
      /^The picture was made, but http:.*s\.png can't be fetched \(.+\): CDN_BASE_URL must lead to it\.$/,
    ],
  ] as const)('says %s', async (_what, answers, sentence) => {
    const { generate } = await given(() => [...answers])
    await expect(generate()).rejects.toThrow(sentence)
  })
})
