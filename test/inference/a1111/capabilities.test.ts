import { describe, expect, it } from 'vitest'
import { createA1111Backend } from '../../../src/inference/a1111/a1111-backend.js'
import { createServerHttp, parseServerUrl } from '../../../src/inference/server-http.js'
import { expectUnavailable, probedAs } from '../attached.js'
import { failureOf, givenBackend, PONY, SDXL } from './given.js'

describe('capabilities', () => {
  it.each(['a1111', 'forge', 'legacy', 'sdnext'] as const)(
    'of %s are its checkpoints by file name and all 32-bit seeds',
    async (dialect) => {
      const { capabilities } = await givenBackend({ dialect })
      expect(await capabilities()).toMatchObject({ models: [PONY, SDXL], maxSeed: 4294967295 })
    },
  )

  it('log what kind of server it is, once', async () => {
    const logged: object[] = []
    const { capabilities } = await givenBackend(
      { dialect: 'sdnext' },
      { logger: { info: (facts: object) => void logged.push(facts) } as never },
    )
    await capabilities()
    await capabilities()
    expect(logged).toEqual([expect.objectContaining({ dialect: 'sdnext' })])
  })

  it('are asked of nobody who hangs up meanwhile', async () => {
    const { standIn, backend } = await givenBackend()
    standIn.set({ fault: 'hang', scope: 'all' })
    const controller = new AbortController()
    const failed = failureOf(backend.capabilities(controller.signal))
    await standIn.seen(({ path }) => path === '/sdapi/v1/sd-models')
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
    standIn.set({ fault: 'hang', scope: 'all' })
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
    given.standIn.set({ fault, scope: 'all' })
    await expectUnavailable(given, probedAs(fault))
    expect(given.standIn.asked()).toEqual([])
  })

  it('when the host name is unknown', async () => {
    const backend = createA1111Backend('a1111+http://nowhere.invalid:7860', { timeoutMs: 4_000 })
    expect((await failureOf(backend.capabilities(new AbortController().signal))).kind).toBe('unavailable')
    await backend.close()
  })
})

it('refuses stable-diffusion.cpp, where nothing can be canceled through this API, and names the scheme to use', async () => {
  const { standIn, capabilities, generate } = await givenBackend({ dialect: 'sdcpp' })
  for (const work of [capabilities(), generate()])
    expect(await failureOf(work)).toMatchObject({
      kind: 'unusable',
      message: expect.stringMatching(/is stable-diffusion\.cpp.*sdcpp\+http:\/\//),
    })
  expect(standIn.asked()).toEqual([])
})

describe('credentials', () => {
  const auth = 'api user:p@ss/w%rd'

  it('of the URL are sent as Basic auth', async () => {
    const { standIn, generate, capabilities } = await givenBackend({ auth })
    await capabilities()
    expect(await generate()).toHaveLength(1)
    expect(
      standIn.journal.every(({ headers }) => headers.authorization === `Basic ${Buffer.from(auth).toString('base64')}`),
    ).toBe(true)
  })

  it('that are wrong make the backend unusable and are named nowhere', async () => {
    const { standIn } = await givenBackend({ auth })
    const backend = createA1111Backend(`a1111+http://someone:s3cret@127.0.0.1:${standIn.port}/`, { timeoutMs: 1_000 })
    const error = await failureOf(backend.capabilities(new AbortController().signal))
    await backend.close()
    expect(error.kind).toBe('auth')
    expect(backend.name).toBe(`a1111+http://127.0.0.1:${standIn.port}`)
    const told = [backend.name, error.message, error.publicMessage, error.stack, JSON.stringify(error)].join('\n')
    expect(told).not.toMatch(/s3cret|someone|c29tZW9uZ/)
  })

  it.each([401, 403])('that txt2img refuses with %i are an auth failure', async (status) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: { status } })
    expect((await failureOf(generate())).kind).toBe('auth')
  })

  it.each(['a1111+http://', 'a1111+http://user:s3cret@', 'a1111+ftp://user:s3cret@host'])(
    'of the unusable URL %s stay out of the complaint',
    (url) => {
      expect(() => createA1111Backend(url, { timeoutMs: 1 })).toThrow(
        'A backend is written like a1111+http://host:7860.',
      )
    },
  )
})

it('keeps a path that a reverse proxy adds', async () => {
  const { standIn } = await givenBackend()
  const backend = createA1111Backend(`a1111+http://127.0.0.1:${standIn.port}/forge/`, { timeoutMs: 1_000 })
  expect(backend.name).toBe(`a1111+http://127.0.0.1:${standIn.port}/forge`)
  await failureOf(backend.capabilities(new AbortController().signal))
  await backend.close()
  expect(standIn.journal.map(({ path }) => path)).toContain('/forge/sdapi/v1/sd-models')
})

it('cuts off a reply that grows beyond the limit', async () => {
  const { standIn } = await givenBackend()
  const http = createServerHttp(parseServerUrl(standIn.inferenceUrl), { maxReplyBytes: 100 })
  const error = await failureOf(http.get('/sdapi/v1/sd-models', new AbortController().signal))
  await http.close()
  expect(error.kind).toBe('bad_output')
})
