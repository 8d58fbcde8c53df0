import { describe, expect, it } from 'vitest'
import { givenBackend } from './given.js'

it('asks for each image alone, with its own seed and every name that some server reads', async () => {
  const { standIn, generate } = await givenBackend()
  const images = await generate({ seeds: [7, 8] })
  expect(images.map(({ seed }) => seed)).toEqual([7, 8])
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
])('asks for the catalog’s %s, where the server lists %j, as %s', async (filename, models, model) => {
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
})
