import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import type { CheckpointOptions } from '../../../src/inference/checkpoint-options.js'
import { createSdCppBackend } from '../../../src/inference/sdcpp/sdcpp-backend.js'
import type { SdCppStandInOptions } from '../../stand-ins/sdcpp/sdcpp-stand-in.js'
import { failureOf, PONY } from '../given.js'
import { definitionOf } from '../given-definition.js'
import { givenBackend } from './given.js'

const NAME = 'pony@1'
const LORAS = ['styles/ink.safetensors', 'film.gguf']

async function given(options: CheckpointOptions, standIn: SdCppStandInOptions = {}) {
  const definitions = async () => [definitionOf(NAME, options)]
  const backend = await givenBackend({ loras: LORAS, ...standIn }, { definitions })
  const pixels = async (model: string) =>
    sharp((await backend.generate({ model }))[0]?.bytes)
      .raw()
      .toBuffer()
  return { ...backend, pixels, body: () => JSON.parse(backend.standIn.asked().at(-1) ?? '') }
}

it('draws with options under sd-server’s names, and with none of them the next time', async () => {
  const options = {
    ...{ clip_skip: 2, distilled_guidance: 3.5, flow_shift: 3 },
    lora: [{ file: 'ink.safetensors', strength: 0.8 }],
  }
  const { generate, body, pixels } = await given(options)
  const plain = await pixels(PONY)
  expect(body()).not.toHaveProperty('clip_skip')
  const [image] = await generate({ model: NAME })
  expect(body()).toMatchObject({
    clip_skip: 2,
    lora: [{ path: 'styles/ink.safetensors', multiplier: 0.8 }],
    sample_params: { flow_shift: 3, guidance: { txt_cfg: 6.5, distilled_guidance: 3.5 } },
  })
  expect(image?.madeWith.definition).toEqual({ name: NAME, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect((await pixels(NAME)).equals(plain)).toBe(false)
  expect((await pixels(PONY)).equals(plain)).toBe(true)
})

it('asks for a second pass in a size that the server keeps, which is the image’s', async () => {
  const hires = { scale: 1.5, upscaler: 'Latent', denoising_strength: 0.5 }
  const { standIn, generate, body } = await given({ hires })
  const [image] = await generate({ model: NAME, width: 128, height: 64 })
  expect(body().hires).toEqual({
    ...{ enabled: true, upscaler: 'Latent', denoising_strength: 0.5 },
    ...{ target_width: 192, target_height: 128 },
  })
  expect(image?.size).toEqual({ width: 192, height: 128 })
  expect(await sharp(image?.bytes).metadata()).toMatchObject({ width: 192, height: 128 })
  standIn.set({ fault: 'wrong_size' })
  expect((await failureOf(generate({ model: NAME }))).kind).toBe('bad_output')
})

it.each([
  [{ vae: 'mse.safetensors' }, ['It does not take vae: start sd-server with --vae instead.']],
  [{ true_cfg_scale: 4 }, ['It does not take true_cfg_scale.']],
  [{ lora: [{ file: 'no.safetensors', strength: 1 }] }, ['It does not have the LoRA "no.safetensors".']],
  [{ lora: [{ file: 'film.safetensors', strength: 1 }] }, ['It does not have the LoRA "film.safetensors".']],
  [
    { hires: { scale: 2, upscaler: '4x-Ultra', denoising_strength: 0.5 } },
    ['It does not have the upscaler "4x-Ultra".'],
  ],
] as const)('does not offer %j, and says why', async (options, sentences) => {
  const { standIn, capabilities, generate } = await given(options as CheckpointOptions)
  const { models, lacks } = await capabilities()
  expect(models).toEqual([PONY])
  expect(lacks?.get(NAME)).toEqual(sentences)
  expect((await failureOf(generate({ model: NAME }))).kind).toBe('model_missing')
  expect(standIn.asked()).toEqual([])
})

it('offers a definition again once the server has what it lacked', async () => {
  const { standIn, capabilities } = await given({ lora: [{ file: 'new.safetensors', strength: 1 }] })
  expect((await capabilities()).models).toEqual([PONY])
  standIn.set({ loras: [...LORAS, 'new.safetensors'] })
  expect((await capabilities()).models).toEqual([PONY, NAME])
})

describe('the multiple of sizes', () => {
  it.each([
    [undefined, 64, 72],
    ['?size_multiple=16', 16, 72],
    ['?size_multiple=8', 8, 76],
  ] as const)('is declared by %s', async (query, sizeMultiple, refused) => {
    const { standIn, capabilities, generate } = await given({}, { sizeMultiple, ...(query && { query }) })
    expect(await capabilities()).toMatchObject({ sizeMultiple })
    const [image] = await generate({ width: 64 + sizeMultiple, height: 64 })
    expect(await sharp(image?.bytes).metadata()).toMatchObject({ width: 64 + sizeMultiple, height: 64 })
    expect((await failureOf(generate({ width: refused }))).kind).toBe('unsupported')
    expect(standIn.asked()).toHaveLength(1)
  })

  it('is noticed if it is less than the server’s', async () => {
    const { generate } = await given({}, { sizeMultiple: 64, query: '?size_multiple=8' })
    expect(await failureOf(generate({ width: 72 }))).toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('instead of 72x64: give the model version "size_multiple": 64'),
    })
  })

  it.each(['32', '', 'many'])('is refused as "%s"', (multiple) => {
    const url = `sdcpp+http://gpu1:1234?size_multiple=${multiple}`
    expect(() => createSdCppBackend(url, { timeoutMs: 1000 })).toThrow('size_multiple must be 8, 16 or 64.')
  })
})
