import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BackendError, type InferenceRequest } from '../../src/core/generations/run/backend.js'
import { createBackend } from '../../src/inference/create-backend.js'
import { SERVER_KINDS } from '../../src/inference/server-kinds.js'
import { call, endOf } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

/** Whoever fetched an address that came with a request would be heard here. */
let trap: Server
let heard: string[] = []
let port: number
beforeAll(async () => {
  trap = createServer((socket) => {
    heard.push('a connection')
    socket.on('error', () => undefined)
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(trap, 'listening')
  port = (trap.address() as AddressInfo).port
})
afterAll(() => void trap.close())
beforeEach(() => {
  heard = []
})

describe('an address in a request', () => {
  const context = useService({ worker: true, env: { RATE_LIMIT_MAX: '1000' } })

  it('is fetched neither by the server nor by a worker, wherever it stands and however it is written', async () => {
    const { db, url } = context.service
    const owner = await givenUser(db)
    const spellings = ['127.0.0.1', 'localhost', '127.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '0']
    const addresses = spellings.map((host) => `http://${host}:${port}/x.png`)
    const [address = ''] = addresses
    const headers = {
      ...{ 'idempotency-key': address, referer: address, origin: address, 'x-forwarded-host': `127.0.0.1:${port}` },
      ...{ 'x-callback-url': address, 'webhook-url': address, link: `<${address}>` },
    }
    const prompt = addresses.map((it) => `an image of ${it} <lora:${it}:1> ![x](${it}) <img src="${it}">`).join(' ')
    const body = { prompt, negative_prompt: prompt, model_version_id: 10, width: 256, height: 256, steps: 1 }
    const submitted = await call(url, 'POST', '/api/v1/generate', { key: owner.key, headers, body })
    expect(submitted.status).toBe(201)
    expect(submitted.body.poll_url).not.toContain(String(port))
    const { status, output } = await endOf({ url }, owner, submitted.body.id)
    expect(status).toBe('succeeded')
    for (const path of [`/image/${output.images[0].id}`, `/cdn/${output.images[0].id}.png`])
      expect(await call(url, 'GET', path, { headers })).toMatchObject({ status: 200 })
    for (const field of ['webhook', 'webhook_url', 'callback_url', 'image', 'init_image'])
      expect(
        await call(url, 'POST', '/v1/images/generate', { key: owner.key, body: { prompt: 'x', [field]: address } }),
      ).toMatchObject({ status: 400 })
    expect(heard).toEqual([])
    await fetch(address).catch(() => undefined)
    expect(heard).toEqual(['a connection']) // it would have been heard
  })
})

describe('a GPU server that redirects', () => {
  const request: InferenceRequest = {
    ...{
      attemptId: randomUUID(),
      attempt: 'gen_test-1',
      model: 'sd_xl_base_1.0.safetensors',
      prompt: 'a lighthouse',
      negativePrompt: '',
    },
    ...{ width: 64, height: 64, steps: 20, cfgScale: 7, sampler: 'euler_a', seeds: [42] },
  }
  const kinds = SERVER_KINDS.map((kind) => `${kind}+http`)

  it.each(kinds.flatMap((kind) => [301, 302, 303, 307, 308].map((status) => [kind, status] as const)))(
    'is not followed to where it redirects: %s, status %i',
    async (kind, status) => {
      let asked = 0
      const redirecting = createHttpServer((request, response) => {
        asked++
        response.writeHead(status, { location: `http://127.0.0.1:${port}${request.url}` }).end()
      }).listen(0, '127.0.0.1')
      await once(redirecting, 'listening')
      // The query is what one kind must be told; the others let it be.
      const url = `${kind}://127.0.0.1:${(redirecting.address() as AddressInfo).port}/?sampler=euler_a`
      const backend = createBackend(url, { timeoutMs: 5000 })
      try {
        const { signal } = new AbortController()
        await expect(backend.capabilities(signal)).rejects.toBeInstanceOf(BackendError)
        await expect(backend.generate(request, { signal })).rejects.toBeInstanceOf(BackendError)
        expect(asked).toBeGreaterThan(0)
        expect(heard).toEqual([])
      } finally {
        await backend.close()
        redirecting.closeAllConnections()
        redirecting.close()
      }
    },
  )
})
