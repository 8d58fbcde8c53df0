import { describe, expect, it } from 'vitest'
import { until } from '../../support/until.js'
import { failureOf } from '../a1111/given.js'
import { expectDiscreet, expectUnavailable, probedAs } from '../attached.js'
import { givenBackend, isGeneration } from './given.js'

const SECRET = 'a secret prompt of the user'
const openAi = (message: string, type = 'invalid_request_error') => ({ error: { message, type, code: null } })

describe('an answer means', () => {
  it.each([
    [{ status: 400, body: { error: 'prompt required' } }, 'invalid_request'],
    [{ status: 400, body: openAi('size must be in format WIDTHxHEIGHT') }, 'invalid_request'],
    [{ status: 400, body: openAi(`rejected: ${SECRET.slice(0, 24)}…`) }, 'invalid_request'],
    [
      { status: 422, body: { detail: [{ loc: ['body', 'guidance_scale'], msg: 'at most 20', input: SECRET }] } },
      'invalid_request',
    ],
    [{ status: 500, body: { error: 'server_error', message: '[json.exception.parse_error.101]' } }, 'invalid_request'],
    [{ status: 404, body: openAi('The model `x` does not exist.', 'NotFoundError') }, 'model_missing'],
    [{ status: 404, body: { detail: 'Not Found' } }, 'unusable'],
    [{ status: 401, body: openAi('Incorrect API key provided.') }, 'auth'],
    [{ status: 429, body: openAi('Rate limit reached', 'rate_limit_error') }, 'busy'],
    [{ status: 503, body: openAi('The model is loading') }, 'unavailable'],
    [{ status: 500, body: openAi('CUDA out of memory. Tried to allocate 2.00 GiB', 'server_error') }, 'oom'],
    [{ status: 500, body: openAi('rpc error: code = Unknown', 'server_error') }, 'backend_fault'],
    [{ status: 500, body: { error: 'generate_image returned no results' } }, 'backend_fault'],
    ['garbage', 'bad_output'],
    [{ status: 200, body: { data: 'none' } }, 'bad_output'],
    ['drop', 'lost'],
    ['drop_mid_reply', 'lost'],
    ['wrong_size', 'bad_output'],
    ['no_image', 'bad_output'],
    ['two_images', 'bad_output'],
    ['url_only', 'bad_output'],
    ['broken_image', 'bad_output'],
    ['other_model', 'model_missing'],
  ] as const)('%j: %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    const error = await failureOf(generate({ prompt: SECRET }))
    expect(error.kind).toBe(kind)
    expectDiscreet(error, SECRET)
    standIn.set({ fault: 'none' })
    expect(await generate()).toHaveLength(1)
  })

  it('nothing that repeats the prompt alone, where the negative one went with it', async () => {
    const { standIn, generate } = await givenBackend({}, { rest: '/v1?sampler=euler_a&negative=pipe' })
    standIn.set({ fault: { status: 400, body: openAi('rejected: Jane Roe') } })
    const error = await failureOf(generate({ prompt: 'Jane Roe', negativePrompt: 'blurry' }))
    expect(error.kind).toBe('invalid_request')
    expectDiscreet(error, 'Jane Roe')
  })

  it('an image that names another seed than it was given: the server ignores seeds', async () => {
    const { generate } = await givenBackend({ dialect: 'sdcpp', models: ['sdxl'] })
    expect(await failureOf(generate({ model: 'sdxl', seeds: [7] }))).toMatchObject({
      kind: 'bad_output',
      message: expect.stringContaining('drew the seed 42 instead of 7'),
    })
  })
})

describe('the probe says unavailable', () => {
  it('while nobody listens, and works again once someone does', async () => {
    const given = await givenBackend()
    await given.standIn.refuse()
    await expectUnavailable(given)
    await given.standIn.accept()
    expect(await given.generate()).toHaveLength(1)
  })

  it.each(['drop', 'garbage', { status: 404, body: {} }, { status: 503 }, { status: 200, body: [] }] as const)(
    'when it answers with %j',
    async (fault) => {
      const given = await givenBackend()
      given.standIn.set({ fault, on: 'models' })
      await expectUnavailable(given, probedAs(fault))
      expect(given.standIn.asked()).toEqual([])
    },
  )

  it('when the server takes too long', async () => {
    const { standIn, capabilities } = await givenBackend({}, { timeoutMs: 100 })
    standIn.set({ fault: 'hang', on: 'models' })
    expect((await failureOf(capabilities())).kind).toBe('unavailable')
  })
})

describe('an abort', () => {
  it('hangs up at once, and says canceled', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: 'hang' })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isGeneration)
    controller.abort()
    expect(await failed).toMatchObject({ kind: 'canceled', publicMessage: 'The generation was canceled.' })
    await until(() => standIn.connections() === 0)
  })

  it('between two images asks for no second one', async () => {
    const { standIn, generate } = await givenBackend()
    const controller = new AbortController()
    const onProgress = () => controller.abort()
    expect((await failureOf(generate({ seeds: [1, 2] }, { signal: controller.signal, onProgress }))).kind).toBe(
      'canceled',
    )
    expect(standIn.asked()).toHaveLength(1)
  })

  it('that came before the call asks nothing of the server', async () => {
    const { standIn, generate } = await givenBackend()
    expect((await failureOf(generate({}, { signal: AbortSignal.abort() }))).kind).toBe('canceled')
    expect(standIn.journal).toEqual([])
  })
})

it('a call that takes too long is a timeout', async () => {
  const { standIn, generate } = await givenBackend({}, { timeoutMs: 1_000 })
  standIn.set({ fault: 'hang' })
  expect((await failureOf(generate())).kind).toBe('timeout')
})
