import { expect, it } from 'vitest'
import { expectDiscreet, failureOf } from '../given.js'
import { givenBackend } from './given.js'

const SECRET = 'a secret prompt of the subscriber'
const openAi = (message: string, type = 'invalid_request_error') => ({ error: { message, type, code: null } })

it.each([
  [{ status: 400, body: { error: 'prompt required' } }, 'invalid_request'],
  [{ status: 400, body: openAi('size must be in format WIDTHxHEIGHT') }, 'invalid_request'],
  [{ status: 500, body: { error: 'server_error', message: '[json.exception.parse_error.101]' } }, 'invalid_request'],
  [{ status: 404, body: openAi('The model `x` does not exist.', 'NotFoundError') }, 'model_missing'],
  [{ status: 404, body: { detail: 'Not Found' } }, 'unusable'],
  [{ status: 401, body: openAi('Incorrect API key provided.') }, 'auth'],
  [{ status: 429, body: openAi('Rate limit reached', 'rate_limit_error') }, 'busy'],
  [{ status: 503, body: openAi('The model is loading') }, 'unavailable'],
  [{ status: 500, body: openAi('rpc error: code = Unknown', 'server_error') }, 'backend_fault'],
  [{ status: 500, body: { error: 'generate_image returned no results' } }, 'backend_fault'],
  [{ status: 200, body: { data: 'none' } }, 'bad_output'],
  [{ status: 200, body: openAi('CUDA out of memory. Tried to allocate 2.00 GiB', 'server_error') }, 'oom'],
  [{ status: 200, body: openAi('The model `x` does not exist.') }, 'model_missing'],
  [{ status: 200, body: { error: 'the backend has crashed' } }, 'backend_fault'],
  [{ status: 302, body: '' }, 'unavailable'],
  ['no_image', 'bad_output'],
  ['url_only', 'bad_output'],
] as const)('the answer %j means %s', async (fault, kind) => {
  const { standIn, generate } = await givenBackend()
  standIn.set({ fault })
  const error = await failureOf(generate({ prompt: SECRET }))
  expect(error.kind).toBe(kind)
  expectDiscreet(error, SECRET)
})

it('says what a server has said with the status of a success, and what to do about an address', async () => {
  const { standIn, generate } = await givenBackend()
  for (const [fault, sentence] of [
    [{ status: 200, body: { error: 'the backend has crashed' } }, 'answered 200: the backend has crashed'],
    ['url_only', 'sent the address of an image instead of its data'],
    [{ status: 302, body: '' }, 'answered 302, which sends callers elsewhere: write the address'],
  ] as const) {
    standIn.set({ fault })
    expect((await failureOf(generate())).message).toContain(sentence)
  }
})

it('tells nobody a complaint that repeats the prompt alone, where the negative one went with it', async () => {
  const { standIn, generate } = await givenBackend({}, { rest: '/v1?sampler=euler_a&negative=pipe' })
  standIn.set({ fault: { status: 400, body: openAi('rejected: Jane Roe') } })
  const error = await failureOf(generate({ prompt: 'Jane Roe', negativePrompt: 'blurry' }))
  expect(error.kind).toBe('invalid_request')
  expectDiscreet(error, 'Jane Roe')
})

it('refuses an image that names another seed than was asked for: the server ignores seeds', async () => {
  const { generate } = await givenBackend({ dialect: 'sdcpp', models: ['sdxl'] })
  expect(await failureOf(generate({ model: 'sdxl', seeds: [7] }))).toMatchObject({
    kind: 'bad_output',
    message: expect.stringContaining('drew the seed 42 instead of 7'),
  })
})

it('says which sizes there are where the server rounds the one that it got', async () => {
  const { standIn, generate } = await givenBackend({}, { rest: '/v1?sampler=euler_a&size_multiple=8' })
  standIn.set({ fault: 'wrong_size' })
  expect(await failureOf(generate({ width: 72 }))).toMatchObject({
    kind: 'unsupported',
    message: expect.stringContaining('drew 80x64 instead of 72x64: give the model version "size_multiple": 16'),
    publicMessage: 'width and height must be multiples of 16 for this model.',
  })
})
