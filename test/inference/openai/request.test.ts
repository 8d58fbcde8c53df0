import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { createOpenAiBackend } from '../../../src/inference/openai/openai-backend.js'
import { aRequest } from '../a1111/given.js'
import { expectAuthFailure, startedProcess } from '../attached.js'
import { givenBackend } from './given.js'

it('asks for each image alone, with its own seed and every name that some server reads', async () => {
  const { standIn, generate } = await givenBackend()
  const progress: number[] = []
  const images = await generate({ seeds: [7, 8] }, { onProgress: (done) => progress.push(done) })
  expect(images.map(({ seed }) => seed)).toEqual([7, 8])
  expect(progress).toEqual([0.5, 1])
  const body = {
    model: 'ponyDiffusionV6XL',
    prompt: 'a lighthouse at dusk',
    negative_prompt: 'blurry',
    n: 1,
    size: '64x64',
    response_format: 'b64_json',
    output_format: 'png',
    seed: 7,
    steps: 20,
    step: 20,
    num_inference_steps: 20,
    cfg_scale: 6.5,
    guidance_scale: 6.5,
  }
  expect(standIn.asked()).toEqual([body, { ...body, seed: 8 }])
})

it.each(['localai', 'vllm'] as const)('%s draws what was asked, whichever names it reads', async (dialect) => {
  const { generate } = await givenBackend({ dialect })
  const draw = async (asked = {}) => (await generate(asked))[0]?.bytes.toString('base64')
  const first = await draw()
  expect(await draw()).toBe(first)
  const others = [await draw({ seeds: [43] }), await draw({ steps: 21 }), await draw({ prompt: 'a cat' })]
  expect(new Set([first, ...others]).size).toBe(4)
  const batch = await generate({ seeds: [41, 42] })
  expect(batch[1]?.bytes.toString('base64')).toBe(first)
})

it.each(['localai', 'vllm'] as const)('has %s draw as wide and as high as was asked', async (dialect) => {
  const { standIn, generate } = await givenBackend({ dialect })
  const [image] = await generate({ width: 192, height: 64 })
  expect(standIn.asked()[0]?.size).toBe('192x64')
  expect(await sharp(image?.bytes).metadata()).toMatchObject({ width: 192, height: 64 })
})

it('puts the negative prompt where LocalAI reads it, and no part of the prompt', async () => {
  const { standIn, generate } = await givenBackend({ dialect: 'localai' }, { rest: '?sampler=euler_a&negative=pipe' })
  const draw = async (asked: object) => (await generate(asked))[0]?.bytes.toString('base64')
  const plain = await draw({ prompt: 'a cat, a dog', negativePrompt: 'blurry, dark' })
  expect(await draw({ prompt: 'a cat, a dog', negativePrompt: 'rain' })).not.toBe(plain)
  expect(await draw({ prompt: 'a cat| a dog', negativePrompt: 'blurry| dark' })).toBe(plain)
  await draw({ prompt: 'a cat|a dog', negativePrompt: '' })
  expect(standIn.asked().map(({ prompt }) => prompt)).toEqual([
    'a cat, a dog|blurry, dark',
    'a cat, a dog|rain',
    'a cat, a dog|blurry, dark',
    'a cat,a dog',
  ])
})

it.each([
  ['ponyDiffusionV6XL.safetensors', ['ponyDiffusionV6XL'], 'ponyDiffusionV6XL'],
  ['ponyDiffusionV6XL', ['ponyDiffusionV6XL'], 'ponyDiffusionV6XL'],
  ['a.safetensors', ['a', 'a.safetensors'], 'a.safetensors'],
])('the catalog’s %s is, of %j, the model %s', async (filename, models, model) => {
  const { standIn, generate } = await givenBackend({ models })
  await generate({ model: filename })
  expect(standIn.asked()[0]?.model).toBe(model)
})

it('never lets a prompt reach the extra arguments of a stable-diffusion.cpp behind it', async () => {
  const { standIn, generate } = await givenBackend()
  const inner = '<sd_cpp_extra_args>{"batch_count":3}</sd_cpp_extra_args>'
  await generate({
    prompt: `a cat${inner} on <sd_cpp_extra_${inner}args>{"seed":1}</sd_cpp_extra_args>a mat`,
    negativePrompt: 'dog<sd_cpp_extra_args>',
  })
  expect(standIn.asked()[0]).toMatchObject({ prompt: 'a cat on a mat', negative_prompt: 'dog' })
})

describe('the address', () => {
  it.each(['?sampler=euler_a', '/?sampler=euler_a', '/v1?sampler=euler_a', '/v1/?sampler=euler_a'])(
    'may end in %s',
    async (rest) => {
      const { standIn, generate } = await givenBackend({}, { rest })
      expect(await generate()).toHaveLength(1)
      expect(standIn.journal.map(({ path }) => path)).toEqual(['/v1/models', '/v1/images/generations'])
    },
  )

  it.each([
    ['user:p@ss/w%rd', `Basic ${Buffer.from('user:p@ss/w%rd').toString('base64')}`],
    [':sk-key/with%', 'Bearer sk-key/with%'],
  ])('%s is sent as %s', async (auth, authorization) => {
    const { standIn, generate } = await givenBackend({ auth })
    expect(await generate()).toHaveLength(1)
    expect(standIn.journal.every(({ headers }) => headers.authorization === authorization)).toBe(true)
  })

  it('with a wrong key makes the backend unusable and is named nowhere', async () => {
    const { standIn } = await givenBackend({ auth: ':right' })
    const url = `openai+http://:s3cret@127.0.0.1:${standIn.port}/v1?sampler=euler`
    const backend = createOpenAiBackend(url, { timeoutMs: 1_000 })
    await expectAuthFailure(backend, /s3cret/)
    expect(backend.name).toBe(`openai+http://127.0.0.1:${standIn.port}/v1`)
  })
})

it('the stand-in runs as a process of its own, is set over HTTP, and ends on SIGTERM', async () => {
  const { url, set, end } = await startedProcess('openai/openai-stand-in.ts', ['--model', 'pony', '--auth', ':key'])
  const backend = createOpenAiBackend(`openai+${url.replace('://', '://:key@')}?sampler=euler_a`, { timeoutMs: 5_000 })
  const signal = new AbortController().signal
  const request = aRequest({ model: 'pony.safetensors', height: 64 })
  expect(await backend.generate(request, { signal })).toHaveLength(1)
  await set({ fault: 'no_image' })
  await expect(backend.generate(request, { signal })).rejects.toMatchObject({ kind: 'bad_output' })
  await backend.close()
  expect(await end()).toEqual([0, null])
})
