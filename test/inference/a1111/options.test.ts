import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import type { ModelDefinition } from '../../../src/core/catalog/model-definition.js'
import type { CheckpointOptions } from '../../../src/inference/checkpoint-options.js'
import type { StandInOptions } from '../../stand-ins/a1111/a1111-stand-in.js'
import { failureOf, PONY, SDXL } from '../given.js'
import { definitionOf } from '../given-definition.js'
import { givenBackend } from './given.js'

const DIALECTS = ['a1111', 'forge', 'legacy', 'sdnext'] as const
const FILES = {
  vae: ['mse.safetensors', 'other.vae.safetensors'],
  modules: ['mse.safetensors', 'clip_l.safetensors', 't5.gguf'],
  lora: ['ink.safetensors', 'film v2.safetensors'],
  upscaler: ['R-ESRGAN 4x+'],
}
const HIRES = { scale: 1.5, upscaler: 'Lanczos', steps: 7, denoising_strength: 0.4 }
const NAME = 'pony@1'

async function given(options: CheckpointOptions, standIn: StandInOptions = {}, others: ModelDefinition[] = []) {
  const definitions = async () => [definitionOf(NAME, options), ...others]
  const backend = await givenBackend({ files: FILES, ...standIn }, { definitions })
  const pixels = async (model: string) => {
    const [image] = await backend.generate({ model })
    return sharp(image?.bytes).raw().toBuffer()
  }
  return { ...backend, pixels, body: () => backend.standIn.asked().at(-1) ?? {} }
}

const SETTINGS = {
  a1111: { sd_vae: 'mse.safetensors', CLIP_stop_at_last_layers: 2 },
  legacy: { sd_vae: 'mse.safetensors', CLIP_stop_at_last_layers: 2 },
  forge: { CLIP_stop_at_last_layers: 2, forge_additional_modules: ['mse.safetensors'] },
  sdnext: { sd_vae: 'mse.safetensors' },
}

describe.each(DIALECTS)('options on %s', (dialect) => {
  it('are drawn with, each in the server’s own words', async () => {
    const options = { vae: 'mse.safetensors', clip_skip: 2, lora: [{ file: 'ink.safetensors', strength: 0.8 }] }
    const { generate, body, capabilities } = await given(options, { dialect })
    expect((await capabilities()).models).toContain(NAME)
    const [image] = await generate({ model: NAME })
    expect(body()).toMatchObject({
      prompt: '<lora:ink:0.8>a lighthouse at dusk',
      override_settings: SETTINGS[dialect],
      override_settings_restore_afterwards: true,
      ...(dialect === 'sdnext' && { clip_skip: 2 }),
    })
    expect(image?.madeWith.definition).toEqual({ name: NAME, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(image?.size).toBeUndefined()
  })

  it('of one drawing are not those of the next, whatever comes between', async () => {
    const options = { vae: 'mse.safetensors', clip_skip: 2 }
    const { standIn, pixels, generate } = await given(options, { dialect, models: [PONY, SDXL] })
    const plain = await pixels(PONY)
    const before = { ...standIn.options() }
    const drawn = await pixels(NAME)
    expect(drawn.equals(plain)).toBe(false)
    expect((await pixels(PONY)).equals(plain)).toBe(true)
    standIn.set({ fault: 'default_sampler', times: 1 })
    await failureOf(generate({ model: NAME, sampler: 'heun' }))
    expect((await pixels(PONY)).equals(plain)).toBe(true)
    expect((await pixels(NAME)).equals(drawn)).toBe(true)
    await generate({ model: SDXL })
    expect((await pixels(NAME)).equals(drawn)).toBe(true)
    const { sd_model_checkpoint: _, ...own } = standIn.options()
    expect(before).toMatchObject(own)
  })

  it('load a checkpoint once, not for each drawing', async () => {
    const options = { vae: 'mse.safetensors' }
    const { standIn, generate } = await given(options, { dialect, models: [SDXL, PONY] })
    for (let n = 0; n < 3; n++) await generate({ model: NAME })
    expect(standIn.loads()).toBe(1)
    await generate({ model: SDXL })
    for (let n = 0; n < 2; n++) await generate({ model: NAME })
    expect(standIn.loads()).toBe(3)
  })

  it('enlarge the image, whose size is then the real one', async () => {
    const { generate, body } = await given({ hires: HIRES }, { dialect })
    const [image] = await generate({ model: NAME, width: 128, height: 88 })
    const { width, height } = await sharp(image?.bytes).metadata()
    expect(image?.size).toEqual({ width: 192, height: 128 })
    expect({ width, height }).toEqual(image?.size)
    expect(body()).toMatchObject({
      ...{ enable_hr: true, hr_scale: 1.5, hr_upscaler: 'Lanczos', hr_second_pass_steps: 7, denoising_strength: 0.4 },
      ...{ width: 128, height: 88, override_settings_restore_afterwards: false },
    })
  })

  it('that enlarge make an answer of the asked size bad', async () => {
    const { standIn, generate } = await given({ hires: HIRES }, { dialect })
    standIn.set({ fault: 'wrong_size' })
    expect((await failureOf(generate({ model: NAME }))).kind).toBe('bad_output')
  })

  it('leave the request for a plain checkpoint as it is without them', async () => {
    const request = { attemptId: '6f9619ff-8b86-4011-b42d-00c04fc964ff' }
    const { standIn, generate } = await given({ vae: 'mse.safetensors', hires: HIRES }, { dialect })
    const without = await givenBackend({ dialect })
    await without.generate(request)
    await generate(request)
    expect(JSON.stringify(standIn.asked())).toBe(JSON.stringify(without.standIn.asked()))
  })
})

describe('a definition is not offered, and it is said why,', () => {
  it.each([
    ['a1111', { distilled_cfg_scale: 3.5 }, ['It does not take distilled_cfg_scale.']],
    ['a1111', { forge_additional_modules: ['t5.gguf'] }, ['It does not take forge_additional_modules.']],
    ['forge', { forge_additional_modules: ['t6.gguf'] }, ['It does not have the module "t6.gguf".']],
    ['forge', { vae: 'other.vae.safetensors' }, ['It does not have the VAE "other.vae.safetensors".']],
    ['a1111', { vae: 'no.safetensors' }, ['It does not have the VAE "no.safetensors".']],
    ['sdnext', { lora: [{ file: 'no.safetensors', strength: 1 }] }, ['It does not have the LoRA "no.safetensors".']],
    ['legacy', { hires: { ...HIRES, upscaler: '4x-Ultra' } }, ['It does not have the upscaler "4x-Ultra".']],
    ['sdnext', { distilled_guidance: 3 }, ['It does not take distilled_guidance.']],
    ['forge', { true_cfg_scale: 4 }, ['It does not take true_cfg_scale.']],
    [
      'a1111',
      { flow_shift: 3, true_cfg_scale: 4 },
      ['It does not take true_cfg_scale.', 'It does not take flow_shift.'],
    ],
  ] as const)('where %s lacks a part of %j', async (dialect, options, sentences) => {
    const { standIn, capabilities, generate } = await given(options as CheckpointOptions, { dialect })
    const { models, lacks } = await capabilities()
    expect(models).not.toContain(NAME)
    expect(lacks?.get(NAME)).toEqual(sentences)
    expect(await failureOf(generate({ model: NAME }))).toMatchObject({
      kind: 'model_missing',
      message: expect.stringContaining(sentences.join(' ')),
      publicMessage: 'The model is not available on the GPU servers.',
    })
    expect(standIn.asked()).toEqual([])
  })

  it('where the checkpoint is missing', async () => {
    const { capabilities } = await given({ clip_skip: 2 }, { models: [SDXL] })
    expect((await capabilities()).lacks?.get(NAME)).toEqual([`It does not have the checkpoint "${PONY}".`])
  })
})

it('Forge draws a second pass with the guidances of the first, and with the same modules', async () => {
  const options = { distilled_cfg_scale: 3, forge_additional_modules: ['clip_l.safetensors', 't5.gguf'], hires: HIRES }
  const { generate, body } = await given({ ...options, vae: 'mse.safetensors' }, { dialect: 'forge' })
  await generate({ model: NAME })
  expect(body()).toMatchObject({
    ...{ distilled_cfg_scale: 3, hr_distilled_cfg: 3, hr_cfg: 6.5, hr_additional_modules: ['Use same choices'] },
    override_settings: { forge_additional_modules: ['clip_l.safetensors', 't5.gguf', 'mse.safetensors'] },
  })
})

it('SD.Next is given the true guidance and the shift under its own names', async () => {
  const { generate, body } = await given({ true_cfg_scale: 4, flow_shift: 3 }, { dialect: 'sdnext' })
  await generate({ model: NAME })
  expect(body()).toMatchObject({ cfg_true: 4, schedulers_shift: 3, override_settings_restore_afterwards: false })
})

it('SD.Next sends PNGs, which lose nothing, also where its settings are restored before it encodes them', async () => {
  const { standIn, generate } = await given({ vae: 'mse.safetensors' }, { dialect: 'sdnext' })
  const formatOf = async (model: string) => (await sharp((await generate({ model }))[0]?.bytes).metadata()).format
  expect(standIn.options().samples_format).toBe('jpg')
  expect(await formatOf(NAME)).toBe('png')
  expect(await formatOf(PONY)).toBe('png')
})

it('draws two models with one checkpoint, each with its own options', async () => {
  const other = definitionOf('pony@2', { clip_skip: 2 })
  const { capabilities, pixels } = await given({ clip_skip: 3 }, {}, [other])
  expect((await capabilities()).models).toEqual([PONY, SDXL, NAME, 'pony@2'])
  const images = [await pixels(PONY), await pixels(NAME), await pixels('pony@2')]
  expect(new Set(images.map((image) => image.toString('base64'))).size).toBe(3)
})

it('loads the operator’s LoRAs whatever the prompt is, and none of the subscriber’s', async () => {
  const lora = [
    { file: 'ink.safetensors', strength: 0.8 },
    { file: 'film v2.safetensors', strength: -1 },
  ]
  for (const dialect of DIALECTS) {
    const { standIn, generate } = await given({ lora }, { dialect })
    const prompts = [
      'a cat',
      '#',
      '# a cat',
      '<lora:a:1>',
      '>',
      '<x:',
      'a <lora:',
      ':1>',
      '{a|b}',
      '/*',
      '*/',
      '\n#x\n',
    ]
    for (const [n, prompt] of prompts.entries()) {
      await generate({ model: NAME, prompt, negativePrompt: prompt })
      expect(standIn.files().slice(2 * n), prompt).toEqual(['lora:ink:0.8', 'lora:film v2:-1'])
    }
  }
})

it('refuses an answer that was drawn with another VAE or other modules', async () => {
  for (const dialect of ['a1111', 'forge', 'sdnext'] as const) {
    const { standIn, generate } = await given({ vae: 'mse.safetensors' }, { dialect })
    standIn.set({ fault: 'other_vae' })
    expect((await failureOf(generate({ model: NAME }))).kind).toBe('bad_output')
  }
})

it('ends at once when its caller hangs up while the checkpoint is loaded', async () => {
  const { standIn, generate } = await given({ clip_skip: 2 }, { models: [SDXL, PONY] })
  const controller = new AbortController()
  standIn.set({ fault: 'hang', scope: 'settings' })
  const failed = failureOf(generate({ model: NAME }, { signal: controller.signal }))
  await standIn.seen(({ path }) => path === '/sdapi/v1/options')
  controller.abort()
  expect((await failed).kind).toBe('canceled')
  expect(standIn.asked()).toEqual([])
  standIn.set({ fault: 'none' })
  expect(await generate({ model: NAME })).toHaveLength(1)
})

it.each([
  [{ status: 500, body: { error: 'RuntimeError', errors: "model 'x' not found" } }, 'model_missing'],
  [{ status: 500, body: { error: 'OutOfMemoryError', errors: 'CUDA out of memory' } }, 'oom'],
  [{ status: 503 }, 'unavailable'],
  ['drop', 'lost'],
] as const)('the answer %j to loading the checkpoint means %s', async (fault, kind) => {
  const { standIn, generate } = await given({ clip_skip: 2 }, { models: [SDXL, PONY] })
  standIn.set({ fault, scope: 'settings' })
  expect((await failureOf(generate({ model: NAME }))).kind).toBe(kind)
})

describe('the listings of files', () => {
  const listings = ({ journal }: { journal: readonly { path: string }[] }) =>
    journal.filter(({ path }) => /\/(sd-vae|loras|upscalers|latent-upscale-modes)$/.test(path)).map(({ path }) => path)

  it('are asked for if a model needs them, and then for a minute, or until a drawing fails', async () => {
    const { standIn, capabilities, generate } = await given({ vae: 'mse.safetensors' })
    for (let n = 0; n < 3; n++) await capabilities()
    expect(listings(standIn)).toEqual(['/sdapi/v1/sd-vae'])
    standIn.set({ fault: 'garbage', times: 1 })
    await failureOf(generate({ model: NAME }))
    await generate({ model: NAME })
    expect(listings(standIn)).toHaveLength(2)
  })

  it('take nothing else from a server where they fail', async () => {
    const lora = [{ file: 'ink.safetensors', strength: 1 }]
    const { capabilities, generate } = await given({ lora }, { files: { ...FILES, broken: ['loras'] } })
    const { models, lacks } = await capabilities()
    expect([models, lacks?.get(NAME)]).toEqual([[PONY, SDXL], ['It does not list its LoRAs.']])
    expect(await generate()).toHaveLength(1)
  })

  it('are not asked for otherwise', async () => {
    const { standIn, capabilities } = await givenBackend({ files: FILES }, { definitions: async () => [] })
    await capabilities()
    expect(standIn.journal).toHaveLength(4)
  })
})

it('is told to look for the checkpoints behind definitions, and for no workflow', async () => {
  const definitions = async () => [
    definitionOf(NAME, { clip_skip: 2 }, 'new.safetensors'),
    { filename: 'flux@1', hash: '', document: JSON.stringify({ kind: 'workflow' }) },
  ]
  const refreshes = async (wanted: string[], added: string[]) => {
    const { standIn, capabilities } = await givenBackend(
      { models: [PONY], added },
      { definitions, wanted: async () => wanted },
    )
    const { models } = await capabilities()
    return [standIn.journal.filter(({ path }) => path.endsWith('/refresh-checkpoints')).length, models]
  }
  expect(await refreshes([PONY, NAME], ['new.safetensors'])).toEqual([1, [PONY, 'new.safetensors', NAME]])
  expect(await refreshes([PONY, 'flux@1'], [])).toEqual([0, [PONY]])
})
