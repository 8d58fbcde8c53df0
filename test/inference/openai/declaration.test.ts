import { describe, expect, it } from 'vitest'
import { createOpenAiBackend } from '../../../src/inference/openai/openai-backend.js'
import { failureOf } from '../given.js'
import { givenBackend } from './given.js'

const create = (rest: string) => createOpenAiBackend(`openai+http://:s3cret@gpu1:8080${rest}`, { timeoutMs: 1_000 })

describe('the start is refused, without the key, for', () => {
  it.each([
    ['/v1', 'must say which sampler the server draws with'],
    ['', 'must say which sampler the server draws with'],
    ['/v1?sampler=Euler%20a', 'sampler must be one of euler_a, euler, '],
    ['/v1?sampler=', 'sampler must be one of euler_a, euler, '],
    [
      '/v1?sampler=euler&samplr=heun',
      'has no option "samplr"; it has sampler, model, max_seed, size_multiple, max_cfg_scale, negative.',
    ],
    ['/v1?sampler=euler&size_multiple=32', 'size_multiple must be 8, 16 or 64.'],
    ['/v1?sampler=euler&negative=field', 'negative must be pipe, or be left out.'],
    ['/v1?sampler=euler&max_seed=3000000000', 'max_seed must be 2147483647 or 4294967295.'],
    ['/v1?sampler=euler&max_seed=4294967296', 'max_seed must be 2147483647 or 4294967295.'],
    ['/v1?sampler=euler&max_cfg_scale=21', 'max_cfg_scale must be 20, or be left out.'],
  ])('openai+http://gpu1:8080%s', (rest, complaint) => {
    expect(() => create(rest)).toThrow(complaint)
    expect(() => create(rest)).not.toThrow('s3cret')
  })
})

describe('capabilities', () => {
  it('are what the operator declares, and no seed or size that some server would change', async () => {
    const { capabilities } = await givenBackend({}, { rest: '/v1?sampler=euler&sampler=heun&sampler=euler' })
    expect(await capabilities()).toMatchObject({
      samplers: ['euler', 'heun'],
      maxSeed: 2147483647,
      sizeMultiple: 64,
      maxCfgScale: undefined,
    })
  })

  it('have no cfg_scale above 20 where the operator says so, and a request with one is not sent', async () => {
    const { standIn, capabilities, generate } = await givenBackend({}, { rest: '/v1?sampler=euler_a&max_cfg_scale=20' })
    expect(await capabilities()).toMatchObject({ maxCfgScale: 20 })
    expect(await generate({ cfgScale: 20 })).toHaveLength(1)
    const asked = standIn.asked().length
    expect(await failureOf(generate({ cfgScale: 20.5 }))).toMatchObject({
      kind: 'unsupported',
      publicMessage: 'A cfg_scale above 20 is not available on the GPU servers.',
    })
    expect(standIn.asked()).toHaveLength(asked)
  })

  it('grow where the operator vouches for it', async () => {
    const rest = '/v1?sampler=euler_a&max_seed=4294967295&size_multiple=8'
    const { capabilities, generate } = await givenBackend({}, { rest })
    expect(await capabilities()).toMatchObject({ maxSeed: 4294967295, sizeMultiple: 8 })
    expect(await generate({ seeds: [4294967295, 0], width: 72 })).toHaveLength(2)
  })

  it('are the models that the server lists, by every file name that the catalog may have for them', async () => {
    const { capabilities } = await givenBackend({ models: ['sdxl', 'Tongyi-MAI/Z-Image-Turbo'] })
    expect((await capabilities()).models).toEqual(
      expect.arrayContaining(['sdxl', 'sdxl.safetensors', 'sdxl.gguf', 'Tongyi-MAI/Z-Image-Turbo']),
    )
  })

  it('are only those of the listed models that the operator picks', async () => {
    const models = ['llama-3', 'sdxl', 'flux']
    const { capabilities } = await givenBackend({ models }, { rest: '/v1?sampler=euler&model=sdxl&model=gone' })
    const served = (await capabilities()).models
    expect(served).toContain('sdxl.safetensors')
    expect(served?.filter((name) => !name.startsWith('sdxl'))).toEqual([])
  })

  it('are the declared models where the server has no listing', async () => {
    const { standIn, capabilities } = await givenBackend({}, { rest: '/v1?sampler=euler&model=sdxl' })
    standIn.set({ fault: { status: 404, body: { detail: 'Not Found' } }, on: 'models' })
    expect((await capabilities()).models).toContain('sdxl')
  })
})

it('does not attach stable-diffusion.cpp, which ignores seeds here, and says how to', async () => {
  const { capabilities, generate } = await givenBackend({ dialect: 'sdcpp' })
  const error = await failureOf(capabilities())
  expect(error.kind).toBe('unusable')
  expect(error.message).toContain('sdcpp+http://')
  expect((await failureOf(generate({ model: 'sd-cpp-local' }))).kind).toBe('unusable')
})
