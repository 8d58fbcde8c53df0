import { describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../../src/generation/sampler.js'
import { createComfyuiBackend } from '../../../src/inference/comfyui/comfyui-backend.js'
import { createServerHttp, parseServerUrl } from '../../../src/inference/server-http.js'
import { expectUnavailable, probedAs } from '../attached.js'
import { failureOf, givenBackend, givenHttp, PONY, SDXL } from './given.js'

describe('capabilities', () => {
  it.each(['old', '0.3.64', 'new'] as const)(
    'of version %s are its checkpoints, all samplers but pndm, all 32-bit seeds and sizes in steps of 8',
    async (version) => {
      const { capabilities } = await givenBackend({ version })
      expect(await capabilities()).toEqual({
        models: [PONY, SDXL],
        samplers: SAMPLERS.filter((sampler) => sampler !== 'pndm'),
        maxSeed: 4294967295,
        sizeMultiple: 8,
      })
    },
  )

  it('have no sampler that the server does not list', async () => {
    const { capabilities } = await givenBackend({ samplers: ['euler', 'dpmpp_2m', 'ipndm'] })
    expect((await capabilities()).samplers).toEqual(['euler', 'dpmpp_2m_karras', 'dpmpp_2m'])
  })

  it('name a checkpoint in a folder in full and, where no other has it, by its base name', async () => {
    const models = ['sdxl/pony.safetensors', 'win\\dream.ckpt', 'a/twin.safetensors', 'b/twin.safetensors', 'top.ckpt']
    const { capabilities } = await givenBackend({ models: [...models, 'a/top.ckpt'] })
    expect((await capabilities()).models).toEqual([
      ...models,
      'a/top.ckpt',
      'win/dream.ckpt',
      'pony.safetensors',
      'dream.ckpt',
    ])
  })

  it('are asked of nobody who hangs up meanwhile', async () => {
    const { standIn, backend } = await givenBackend()
    standIn.set({ fault: 'hang', on: '' })
    const controller = new AbortController()
    const failed = failureOf(backend.capabilities(controller.signal))
    await standIn.seen(({ path }) => path === '/object_info/KSampler')
    controller.abort()
    expect((await failed).kind).toBe('canceled')
  })
})

describe('the probe says unavailable', () => {
  it('while nobody listens, and works again once someone does', async () => {
    const { standIn, capabilities, generate } = await givenBackend()
    await standIn.refuse()
    expect((await failureOf(capabilities())).kind).toBe('unavailable')
    expect((await failureOf(generate())).kind).toBe('unavailable')
    await standIn.accept()
    expect((await capabilities()).models).toContain(PONY)
    expect(await generate()).toHaveLength(1)
  })

  it('when the server takes too long', async () => {
    const { standIn, capabilities } = await givenBackend({}, { timeoutMs: 100 })
    standIn.set({ fault: 'hang', on: '' })
    expect((await failureOf(capabilities())).kind).toBe('unavailable')
  })

  it.each([
    'drop',
    'garbage',
    { status: 500 },
    { status: 503 },
    { status: 429 },
    { status: 404 },
    { status: 307 },
    { status: 200, body: {} },
  ] as const)('when it answers with %j', async (fault) => {
    const given = await givenBackend()
    given.standIn.set({ fault, on: '' })
    await expectUnavailable(given, probedAs(fault))
    expect(given.standIn.asked()).toEqual([])
  })
})

describe('credentials', () => {
  const auth = 'api user:p@ss/w%rd'

  it('of the URL are sent as Basic auth, to the WebSocket too', async () => {
    const { standIn, generate } = await givenBackend({ auth, latencyMs: 200 })
    const progress: number[] = []
    expect(await generate({}, { onProgress: (done) => progress.push(done) })).toHaveLength(1)
    expect(progress.length).toBeGreaterThan(1)
    expect(standIn.journal.some(({ path }) => path.startsWith('/ws?'))).toBe(true)
    for (const { path, headers } of standIn.journal)
      expect([path, headers.authorization]).toEqual([path, `Basic ${Buffer.from(auth).toString('base64')}`])
  })

  it('that are wrong make the backend unusable and are named nowhere', async () => {
    const { standIn } = await givenBackend({ auth })
    const backend = createComfyuiBackend(`comfyui+http://someone:s3cret@127.0.0.1:${standIn.port}/`, {
      timeoutMs: 5_000,
    })
    const error = await failureOf(backend.capabilities(new AbortController().signal))
    await backend.close()
    expect(error.kind).toBe('auth')
    expect(backend.name).toBe(`comfyui+http://127.0.0.1:${standIn.port}`)
    const told = [backend.name, error.message, error.publicMessage, error.stack, JSON.stringify(error)].join('\n')
    expect(told).not.toMatch(/s3cret|someone|c29tZW9uZ/)
  })

  it.each(['comfyui+http://', 'comfyui+http://user:s3cret@', 'comfyui+ftp://user:s3cret@host'])(
    'of the unusable URL %s stay out of the complaint',
    (url) => {
      expect(() => createComfyuiBackend(url, { timeoutMs: 1 })).toThrow(/^A backend is written like [^@]*$/)
    },
  )
})

it('keeps a path that a reverse proxy adds, for the WebSocket too', async () => {
  const { standIn, generate } = await givenBackend()
  await generate()
  standIn.set({ fault: { status: 200, body: [PONY] }, on: 'GET /comfy/models' })
  const backend = createComfyuiBackend(`comfyui+http://127.0.0.1:${standIn.port}/comfy/`, { timeoutMs: 5_000 })
  expect(backend.name).toBe(`comfyui+http://127.0.0.1:${standIn.port}/comfy`)
  await failureOf(backend.capabilities(new AbortController().signal))
  await backend.close()
  expect(standIn.journal.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['/comfy/models/checkpoints', '/comfy/system_stats', '/comfy/object_info/KSampler']),
  )
})

describe('a download', () => {
  it('brings the bytes of a file as they are', async () => {
    const { standIn } = await givenBackend()
    standIn.files.set('temp/a.png', Buffer.from([0, 255, 10, 13]))
    const http = givenHttp(standIn.inferenceUrl)
    const { bytes } = await http.download('/view?type=temp&filename=a.png', new AbortController().signal)
    expect([...bytes]).toEqual([0, 255, 10, 13])
  })

  it('is cut off beyond the limit', async () => {
    const { standIn } = await givenBackend()
    standIn.files.set('temp/a.png', Buffer.alloc(101))
    const http = createServerHttp(parseServerUrl(standIn.inferenceUrl), { maxReplyBytes: 100 })
    const error = await failureOf(http.download('/view?type=temp&filename=a.png', new AbortController().signal))
    await http.close()
    expect(error.kind).toBe('bad_output')
  })
})
