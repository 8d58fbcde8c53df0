import { describe, expect, it } from 'vitest'
import type { Binding } from '../../../../src/inference/comfyui/workflow/bind-workflow.js'
import { bindWorkflow } from '../../../../src/inference/comfyui/workflow/bind-workflow.js'
import { readWorkflow } from '../../../../src/inference/comfyui/workflow/read-workflow.js'
import {
  bound,
  customAdvanced,
  type GivenGraph,
  graphFile,
  node,
  refusal,
  sampler,
  textToImage,
} from './given-graphs.js'

/** "3.seed 11.seed" for each parameter that is bound. */
function shownBinding({ keep: _, ...binding }: Binding) {
  const slots = Object.entries(binding).filter(([, it]) => Array.isArray(it) && Array.isArray(it[0]))
  return Object.fromEntries(
    slots.map(([name, it]) => [name, (it as unknown as string[][]).map((slot) => slot.join('.')).join(' ')]),
  )
}

const slots = (text: string) => text.split(' ').map((slot) => slot.split('.'))

const PLAIN = {
  ...{ prompt: '6.text', negative: '7.text', width: '5.width', height: '5.height', batch: '5.batch_size' },
  ...{ seed: '3.seed', steps: '3.steps', cfg: '3.cfg', sampler: '3.sampler_name', scheduler: '3.scheduler' },
}
const CUSTOM = { ...PLAIN, seed: '25.noise_seed', steps: '17.steps', cfg: '22.cfg' }
const without = (of: Record<string, string>, ...names: string[]) =>
  Object.fromEntries(Object.entries(of).filter(([name]) => !names.includes(name)))

describe('a workflow that ran on a real server', () => {
  it.each([
    ['a-split-files', PLAIN, 1, 7, 4],
    ['b-lora', PLAIN, 1, 7, 4],
    ['c-clip-skip', PLAIN, 1, 7, 4],
    ['d-v-prediction-zsnr', PLAIN, 1, 7, 4],
    [
      'e-hires-two-pass',
      { ...PLAIN, seed: '3.seed 11.seed', scaledWidth: '10.width', scaledHeight: '10.height' },
      1.5,
      7,
      4,
    ],
    ['f-sampler-custom-advanced-cfg', without(CUSTOM, 'sampler', 'scheduler'), 1, 5, 4],
    [
      'f2-sampler-custom-advanced-basic-flux-style',
      { ...without(CUSTOM, 'sampler', 'scheduler', 'cfg', 'negative'), width: '34.value', height: '35.value' },
      ...[1, undefined, 4],
    ],
    ['g-image-scale-after-decode', PLAIN, 1.5, 7, 4],
    ['h-save-animated-webp', PLAIN, 1, 7, 4],
    ['i-missing-node-class', PLAIN, undefined, 7, 4],
    ['j-missing-file', PLAIN, 1, 7, 4],
    [
      'n-primitives',
      { ...PLAIN, prompt: '23.value', width: '21.value', height: '22.value', seed: '20.value' },
      ...[1, 7, 4],
    ],
    [
      'o-base-refiner-advanced',
      {
        ...{ ...PLAIN, prompt: '6.text 15.text', negative: '7.text 16.text', seed: '3.noise_seed' },
        ...{ steps: '3.steps 13.steps', stepBounds: '3.end_at_step 13.start_at_step', cfg: '3.cfg 13.cfg' },
        ...{ sampler: '3.sampler_name 13.sampler_name', scheduler: '3.scheduler 13.scheduler' },
      },
      ...[1, 8, 5],
    ],
  ] as const)('%s is bound', (name, slots, scale, cfgScale, steps) => {
    const { binding, defaults } = bound(JSON.parse(graphFile(name)))
    expect(shownBinding(binding)).toEqual(slots)
    expect(binding.scale).toBe(scale)
    expect(defaults).toMatchObject({ width: 256, height: 256, steps })
    expect(defaults.cfgScale).toBe(cfgScale)
  })

  it.each(['k-img2img', 'l-inpaint-latent-mask', 'm-inpaint-model-conditioning'])(
    '%s is refused: it needs an image',
    (name) => {
      expect(refusal(graphFile(name))).toMatch(
        /^"Load Image( \(as Mask\))?" \(LoadImage(Mask)?, node 1\d\) loads an image .*not supported yet: remove it/,
      )
    },
  )

  it('says what it needs of a server, and not what only its unused nodes need', () => {
    const { needs } = bindWorkflow(readWorkflow(graphFile('j-missing-file')))
    expect(needs.files.map(({ title, file }) => [title, file])).toEqual([
      ['Load Checkpoint', 'sd_xl_base_1.0.safetensors'],
      ['Load LoRA', 'add-detail-xl.safetensors'],
    ])
    const several = textToImage({
      '3': sampler({ model: ['40', 0] }),
      '40': node('Power Lora Loader (rgthree)', {
        ...{ lora_1: { on: true, lora: 'ink.safetensors', strength: 1 }, model: ['4', 0] },
        ...{ lora_2: { on: false, lora: 'oil.safetensors', strength: 1 } },
      }),
    })
    expect(bound(several).needs.files.map(({ file }) => file)).toEqual(['pony.safetensors', 'ink.safetensors'])
    const unused = bound(textToImage({ '50': node('OfNoServer', { file: 'x.safetensors', image: ['8', 0] }) }))
    expect(unused.needs.classes.map((it) => it.class)).not.toContain('OfNoServer')
    expect(unused.binding.keep).not.toContain('50')
  })
})

const LATER = { model: ['4', 0], positive: ['6', 0], negative: ['7', 0] }
const advanced = (inputs: Record<string, unknown>) => {
  const { seed, denoise, ...rest } = sampler().inputs
  return node('KSamplerAdvanced', {
    ...rest,
    noise_seed: seed,
    add_noise: 'enable',
    start_at_step: 0,
    end_at_step: 10000,
    ...inputs,
  })
}
const upscaled: GivenGraph = {
  '30': node('ImageUpscaleWithModel', { upscale_model: ['31', 0], image: ['8', 0] }),
  '31': node('UpscaleModelLoader', { model_name: '4x.pth' }),
  '32': node('SaveImage', { filename_prefix: 'large', images: ['30', 0] }),
}

/** A LoRA of few steps that a truth value turns on, with its steps and cfg, as ComfyUI's own templates have it. */
const turbo = (isOn: unknown, changes: GivenGraph = {}) =>
  textToImage({
    '3': sampler({ model: ['60', 0], steps: ['61', 0], cfg: ['62', 0] }),
    '50': node('PrimitiveBoolean', { value: isOn }, 'Turbo?'),
    '51': node('LoraLoaderModelOnly', { lora_name: 'turbo.safetensors', strength_model: 1, model: ['4', 0] }),
    '52': node('PrimitiveInt', { value: 4 }, 'Steps'),
    '53': node('PrimitiveInt', { value: 50 }, 'Steps'),
    '54': node('PrimitiveFloat', { value: 1 }, 'CFG'),
    '55': node('PrimitiveFloat', { value: 4 }, 'CFG'),
    '60': node('ComfySwitchNode', { switch: ['50', 0], on_false: ['4', 0], on_true: ['51', 0] }),
    '61': node('ComfySwitchNode', { switch: ['50', 0], on_false: ['53', 0], on_true: ['52', 0] }),
    '62': node('ComfySwitchNode', { switch: ['50', 0], on_false: ['55', 0], on_true: ['54', 0] }),
    ...changes,
  })

describe('binds', () => {
  it.each<[string, GivenGraph, Record<string, unknown>]>([
    ['the last of several saved images', textToImage(upscaled), { output: ['30', 0], scale: undefined }],
    [
      'the last of two passes that are both saved',
      textToImage({
        '40': sampler({ latent_image: ['3', 0], denoise: 0.5 }),
        '41': node('VAEDecode', { samples: ['40', 0], vae: ['4', 2] }),
        '42': node('SaveImage', { images: ['41', 0] }),
      }),
      {
        output: ['41', 0],
        seed: [
          ['3', 'seed'],
          ['40', 'seed'],
        ],
      },
    ],
    [
      'the saved image, not the one that is only shown',
      textToImage({
        '30': node('PreviewImage', { images: ['31', 0] }),
        '31': node('ImageInvert', { image: ['8', 0] }),
      }),
      { output: ['8', 0] },
    ],
    [
      'the image that is shown, where none is saved',
      textToImage({ '9': node('PreviewImage', { images: ['8', 0] }) }),
      { output: ['8', 0] },
    ],
    [
      'the node with the title "output"',
      textToImage({ ...upscaled, '9': node('SaveImage', { images: ['8', 0] }, 'Easel: Output') }),
      { output: ['8', 0] },
    ],
    [
      'an image that a node with the title "output" makes',
      textToImage({
        '8': node('VAEDecode', { samples: ['3', 0], vae: ['4', 2] }, 'output'),
        '9': node('Odd', { images: ['8', 0] }),
      }),
      { output: ['8', 0] },
    ],
    [
      'a seed node of a pack',
      textToImage({ '3': sampler({ seed: ['40', 0] }), '40': node('Seed (rgthree)', { seed: -1 }) }),
      { seed: [['40', 'seed']] },
    ],
    [
      'a computed seed where it is used',
      textToImage({ '3': sampler({ seed: ['40', 0] }), '40': node('SeedMath', { a: 5, b: 6 }) }),
      { seed: [['3', 'seed']] },
    ],
    [
      'a computed width where it is used, not at the node that computes it',
      textToImage({
        '5': node('EmptyLatentImage', { width: ['40', 0], height: ['40', 1], batch_size: 1 }),
        '40': node('GetImageSize', { image: ['41', 0] }),
        '41': node('EmptyImage', { color: 0 }),
      }),
      { width: [['5', 'width']], height: [['5', 'height']] },
    ],
    [
      'both sides of a square apart, which one node feeds',
      textToImage({
        '5': node('EmptyLatentImage', { width: ['40', 0], height: ['40', 0], batch_size: 1 }),
        '40': node('PrimitiveInt', { value: 512 }),
      }),
      { width: [['5', 'width']], height: [['5', 'height']] },
    ],
    [
      'a width that two nodes share, at the node that holds it',
      textToImage({
        '3': sampler({ model: ['41', 0] }),
        '5': node('EmptyLatentImage', { width: ['40', 0], height: 768, batch_size: 1 }),
        '40': node('PrimitiveInt', { value: 512 }),
        '41': node('ModelSamplingFlux', { width: ['40', 0], height: 768, model: ['4', 0] }),
      }),
      {
        width: [['40', 'value']],
        height: [
          ['5', 'height'],
          ['41', 'height'],
        ],
      },
    ],
    [
      'a value through a reroute',
      textToImage({
        '3': sampler({ steps: ['41', 0] }),
        '40': node('PrimitiveInt', { value: 12 }),
        '41': node('Reroute', { '': ['40', 0] }),
      }),
      { steps: [['40', 'value']] },
    ],
    [
      'a cfg that feeds a denoise, too, only at the cfg',
      textToImage({
        '3': sampler({ cfg: ['40', 0], denoise: ['40', 0] }),
        '40': node('PrimitiveFloat', { value: 0.9 }),
      }),
      { cfg: [['3', 'cfg']] },
    ],
    [
      'all texts of an SDXL encoder, and its size where it is the image’s',
      textToImage({
        '6': node('CLIPTextEncodeSDXL', {
          text_g: 'a cat',
          text_l: 'a cat',
          width: 4096,
          height: 4096,
          target_width: 512,
          target_height: 768,
          clip: ['4', 1],
        }),
      }),
      {
        prompt: [
          ['6', 'text_g'],
          ['6', 'text_l'],
        ],
        width: [
          ['5', 'width'],
          ['6', 'target_width'],
        ],
        height: [
          ['5', 'height'],
          ['6', 'target_height'],
        ],
      },
    ],
    [
      'Flux’s two texts',
      textToImage({
        '6': node('CLIPTextEncodeFlux', { clip_l: 'a cat', t5xxl: 'a cat', guidance: 3.5, clip: ['4', 1] }),
      }),
      {
        prompt: [
          ['6', 'clip_l'],
          ['6', 't5xxl'],
        ],
      },
    ],
    [
      'the prompt of an encoder, not its system prompt',
      textToImage({
        '6': node('CLIPTextEncodeLumina2', { system_prompt: 'superior', user_prompt: 'a cat', clip: ['4', 1] }),
      }),
      { prompt: [['6', 'user_prompt']] },
    ],
    [
      'each side by the output of a node that has both',
      textToImage({
        '3': sampler({ positive: ['40', 0], negative: ['40', 1] }),
        '40': node('ControlNetApplyAdvanced', {
          positive: ['6', 0],
          negative: ['7', 0],
          strength: 1,
          control_net: ['4', 0],
        }),
      }),
      { prompt: [['6', 'text']], negative: [['7', 'text']] },
    ],
    [
      'the texts of a loader that has both',
      textToImage({
        '3': sampler({ model: ['40', 0], positive: ['40', 1], negative: ['40', 2], latent_image: ['40', 3] }),
        '40': node('Efficient Loader', {
          ckpt_name: 'a.safetensors',
          positive: 'a cat',
          negative: 'bad',
          empty_latent_width: 512,
          empty_latent_height: 768,
          batch_size: 1,
        }),
      }),
      { prompt: [['40', 'positive']], negative: [['40', 'negative']], width: [['40', 'empty_latent_width']] },
    ],
    [
      'the text with the title "prompt" within a concatenation',
      textToImage({
        '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
        '40': node('StringConcatenate', { string_a: ['41', 0], string_b: 'masterpiece', delimiter: ', ' }),
        '41': node('PrimitiveString', { value: 'a cat' }, 'PROMPT'),
      }),
      { prompt: [['41', 'value']] },
    ],
    ...(
      [
        ['CLIPTextEncodeHiDream', ['clip_l', 'clip_g', 't5xxl', 'llama']],
        ['CLIPTextEncodeSD3', ['clip_l', 'clip_g', 't5xxl']],
        ['CLIPTextEncodeHunyuanDiT', ['bert', 'mt5xl']],
        ['CLIPTextEncodeKandinsky5', ['clip_l', 'qwen25_7b']],
        ['TextEncodeQwenImageEditPlus', ['prompt']],
      ] as const
    ).map(([name, inputs]): [string, GivenGraph, Record<string, unknown>] => [
      `all texts of ${name}`,
      textToImage({
        '6': node(name, { ...Object.fromEntries(inputs.map((input) => [input, 'a cat'])), clip: ['4', 1] }),
      }),
      { prompt: inputs.map((input) => ['6', input]) },
    ]),
    [
      'the two texts of an encoder by its outputs',
      textToImage({
        '3': sampler({ positive: ['6', 0], negative: ['6', 1] }),
        '6': node('TextEncodeBooguEdit', { prompt: 'a cat', negative_prompt: 'blurred', clip: ['4', 1] }),
      }),
      { prompt: [['6', 'prompt']], negative: [['6', 'negative_prompt']] },
    ],
    [
      'each side of a node that takes several of both',
      textToImage({
        '3': sampler({ positive: ['40', 0], negative: ['40', 1] }),
        '40': node('PairConditioningCombine', {
          ...{ positive_A: ['6', 0], negative_A: ['7', 0], positive_B: ['6', 0], negative_B: ['7', 0] },
        }),
      }),
      { prompt: [['6', 'text']], negative: [['7', 'text']] },
    ],
    [
      'the two texts of a styler, each by its side',
      textToImage({
        '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
        '7': node('CLIPTextEncode', { text: ['40', 1], clip: ['4', 1] }),
        '40': node('SDXLPromptStyler', { text_positive: 'a cat', text_negative: '', style: 'base', log_prompt: true }),
      }),
      { prompt: [['40', 'text_positive']], negative: [['40', 'text_negative']] },
    ],
    [
      'a text that is shown on its way',
      textToImage({
        '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
        '40': node('ShowText|pysssss', { text: ['41', 0], text_0: 'what was shown last' }),
        '41': node('Text Multiline', { text: 'a cat' }),
      }),
      { prompt: [['41', 'text']] },
    ],
    [
      'the prompt behind an instruction to the model',
      textToImage({
        '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
        '40': node('StringConcatenate', { string_a: ['41', 0], string_b: ['42', 0], delimiter: '' }),
        '41': node('PrimitiveString', { value: 'You are an assistant designed to draw. <Prompt Start> ' }),
        '42': node('PrimitiveString', { value: 'a cat' }),
      }),
      { prompt: [['42', 'value']] },
    ],
    [
      'the prompt that takes a place in an instruction',
      textToImage({
        '6': node('CLIPTextEncode', { text: ['39', 0], clip: ['4', 1] }),
        '39': node('PreviewAny', { source: ['40', 0] }),
        '40': node('TextGenerate', { prompt: ['41', 0], max_length: 9, sampling_mode: 'on', clip: ['4', 1] }),
        '41': node('StringReplace', {
          string: '[SYSTEM_PROMPT] Enlarge {prompt}',
          find: '{prompt}',
          replace: ['42', 0],
        }),
        '42': node('PrimitiveStringMultiline', { value: 'a cat' }),
      }),
      { prompt: [['42', 'value']] },
    ],
    [
      'the text that a titled node joins to another',
      textToImage({
        '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
        '40': node('StringConcatenate', { string_a: ['41', 0], string_b: 'a cat', delimiter: ', ' }, 'prompt'),
        '41': node('PrimitiveString', { value: 'masterpiece' }),
      }),
      { prompt: [['40', 'string_b']] },
    ],
    [
      'a detail node between sampler and sigmas',
      customAdvanced({
        '3': node('SamplerCustomAdvanced', {
          noise: ['20', 0],
          guider: ['21', 0],
          sampler: ['22', 0],
          sigmas: ['24', 0],
          latent_image: ['5', 0],
        }),
        '24': node('DetailDaemonSigmas', { amount: 0.1, sigmas: ['23', 0] }),
      }),
      { steps: [['23', 'steps']], scheduler: [['23', 'scheduler']] },
    ],
    [
      'the split of a sampler’s sigmas',
      customAdvanced({
        '3': node('SamplerCustomAdvanced', {
          noise: ['20', 0],
          guider: ['21', 0],
          sampler: ['22', 0],
          sigmas: ['24', 1],
          latent_image: ['5', 0],
        }),
        '24': node('SplitSigmas', { step: 2, sigmas: ['23', 0] }),
      }),
      { steps: [['23', 'steps']], stepBounds: [['24', 'step']] },
    ],
    [
      'no bound at or beyond the last step',
      textToImage({ '3': advanced({ end_at_step: 20 }) }),
      { stepBounds: [], steps: [['3', 'steps']] },
    ],
    [
      'nothing at a part of a chain that does not have it',
      textToImage({
        '3': advanced({ steps: 'many', cfg: '%cfg%' }),
        '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
        '30': node('Refine', {
          ...{ add_noise: 'disable', start_at_step: 0, noise_seed: 0, latent_image: ['3', 0], positive: ['6', 0] },
        }),
      }),
      { steps: [], cfg: [['3', 'cfg']] },
    ],
    [
      'no seed of a sampler that adds no noise',
      textToImage({
        '3': advanced({ end_at_step: 10 }),
        '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
        '30': advanced({ add_noise: 'disable', start_at_step: 10, latent_image: ['3', 0] }),
      }),
      {
        seed: [['3', 'noise_seed']],
        stepBounds: [
          ['3', 'end_at_step'],
          ['30', 'start_at_step'],
        ],
      },
    ],
    [
      'a size of 0 of a later pass not at all',
      textToImage({
        '9': node('SaveImage', { images: ['30', 0] }),
        '30': node('ImageScale', { width: 1024, height: 0, crop: 'disabled', image: ['8', 0] }),
      }),
      { scaledWidth: [['30', 'width']], scaledHeight: [] },
    ],
    [
      'what is needed beside values that are neither wires nor literals',
      textToImage({
        '9': node('SaveImageAdvanced', { images: ['40', 0], format: 'png', 'format.bit_depth': '8-bit' }),
        '40': node('GLSLShader', {
          ...{
            'images.image0': ['8', 0],
            'curves.u_curve0': {
              __value__: [
                [0, 0],
                [1, 1],
              ],
            },
            list: ['a', 'b', 'c'],
          },
        }),
      }),
      { output: ['40', 0], keep: expect.arrayContaining(['8', '3', '40']) },
    ],
    ['numbers that are written as text', textToImage({ '3': sampler({ steps: '12' }) }), { steps: [['3', 'steps']] }],
    [
      'ids of flattened subgraphs',
      {
        ...textToImage({ '9': node('SaveImage', { images: ['57:8', 0] }) }),
        '57:8': node('VAEDecode', { samples: ['3', 0], vae: ['4', 2] }),
      },
      { output: ['57:8', 0] },
    ],
  ])('%s', (_, graph, expected) => {
    expect(bound(graph).binding).toMatchObject(expected)
  })

  it('what the switches of the file choose, and needs nothing of the other side', () => {
    const off = bound(turbo(false))
    expect(off.binding).toMatchObject({ steps: [['53', 'value']], cfg: [['55', 'value']], negative: [['7', 'text']] })
    expect(off.defaults).toMatchObject({ steps: 50, cfgScale: 4 })
    expect(off.needs.files.map(({ file }) => file)).toEqual(['pony.safetensors'])
    expect(off.notes).toEqual([
      '"Turbo?" (PrimitiveBoolean, node 50) stays as it is in the file: what it turns off is left out.',
    ])
    const on = bound(turbo(true))
    expect(on.binding).toMatchObject({ steps: [['52', 'value']], cfg: [], negative: [] })
    expect(on.needs.files.map(({ file }) => file)).toContain('turbo.safetensors')
  })

  it.each<[string, GivenGraph, number | undefined]>([
    ['a literal', { '61': node('easy ifElse', { boolean: true, on_false: ['53', 0], on_true: ['52', 0] }) }, 4],
    ['a literal side', { '61': node('BooleanSwitchNode', { state: false, on_false: 30, on_true: ['52', 0] }) }, 30],
    ['a value through a reroute', { '50': node('Reroute', { '': ['70', 0] }), '70': node('Bool', { value: true }) }, 4],
    [
      'a switch behind a switch',
      { '53': node('ComfySwitchNode', { switch: true, on_false: ['52', 0], on_true: ['70', 0] }) },
      12,
    ],
    ['what is computed', { '50': node('AskModel', { value: true, model: ['4', 0] }) }, undefined],
    ['a number', { '50': node('PrimitiveInt', { value: 1 }) }, undefined],
  ])('the steps of a switch that is set by %s', (_, changes, steps) => {
    const graph = turbo(false, { '70': node('PrimitiveInt', { value: 12 }), ...changes })
    expect(bound(graph).defaults.steps).toBe(steps)
  })

  it.each<[string, unknown, string[] | undefined]>([
    ['a literal', 2, ['41', 'value']],
    ['a value', ['42', 0], ['40', 'value']],
    ['a number without a wire', 3, undefined],
    ['what is computed', ['43', 0], undefined],
  ])('the input of a switch whose number is %s', (_, select, expected) => {
    const graph = textToImage({
      '3': sampler({ steps: ['30', 0], cfg: ['31', 2] }),
      '30': node('ImpactSwitch', { select, sel_mode: false, input1: ['40', 0], input2: ['41', 0] }),
      '31': node('ImpactSwitch', { select: 1, sel_mode: false, input1: ['41', 0] }),
      '40': node('PrimitiveInt', { value: 30 }),
      '41': node('PrimitiveInt', { value: 4 }),
      '42': node('PrimitiveInt', { value: 1 }),
      '43': node('AskModel', { value: 1, model: ['4', 0] }),
    })
    const { binding } = bound(graph)
    expect(binding.steps).toEqual(expected ? [expected] : [])
    // Which one it has chosen is no input of it.
    expect(binding.cfg).toEqual([])
  })

  it('the input of a switch that counts from 0', () => {
    const choose = node('easy anythingIndexSwitch', { index: 0, value0: ['40', 0], value1: ['41', 0] })
    const graph = textToImage({
      ...{ '3': sampler({ steps: ['30', 0] }), '30': choose },
      ...{ '40': node('PrimitiveInt', { value: 30 }), '41': node('PrimitiveInt', { value: 4 }) },
    })
    expect(bound(graph).defaults.steps).toBe(30)
  })

  it('no switch that chooses itself', () => {
    const own = node('ComfySwitchNode', { switch: true, on_false: ['53', 0], on_true: ['61', 0] })
    expect(refusal(turbo(true, { '61': own }))).toContain('needs its own result')
  })

  it('no title that several nodes have, where each has one place', () => {
    const { binding, defaults } = bound(
      textToImage({
        '3': sampler({ steps: ['40', 0] }),
        '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
        '30': sampler({ ...LATER, latent_image: ['3', 0], steps: ['41', 0] }),
        '40': node('PrimitiveInt', { value: 30 }, 'Steps'),
        '41': node('PrimitiveInt', { value: 4 }, 'Steps'),
      }),
    )
    expect(binding.steps).toEqual([['40', 'value']])
    expect(defaults.steps).toBe(30)
  })

  it.each([
    ['PreviewAny', { source: ['40', 0] }],
    ['Any Switch (rgthree)', { any_02: ['40', 0] }],
    ['PrimitiveInt', { value: ['40', 0] }],
  ])('a value through %s, which only passes it on', (name, inputs) => {
    const graph = textToImage({
      '3': sampler({ steps: ['41', 0] }),
      '40': node('PrimitiveInt', { value: 12 }),
      '41': node(name, inputs),
    })
    expect(bound(graph).binding.steps).toEqual([['40', 'value']])
  })

  const sized = (changes: GivenGraph) =>
    bound(
      textToImage({
        '5': node('EmptyLatentImage', { width: ['40', 0], height: ['40', 1], batch_size: 1 }),
        '40': node('ResolutionSelector', { aspect_ratio: '9:16 (Portrait Widescreen)', megapixels: 1, multiple: 8 }),
        ...changes,
      }),
    )
  const REPLACED = 'The size that "ResolutionSelector" (ResolutionSelector, node 40) computes is replaced by'

  it('a size that is chosen by its ratio, which is the default', () => {
    const { binding, defaults, notes } = sized({})
    expect(binding).toMatchObject({ width: slots('5.width'), height: slots('5.height') })
    expect(defaults).toMatchObject({ width: 768, height: 1368 })
    expect(notes).toEqual([`${REPLACED} the one that is asked for.`])
    const foreign = sized({ '40': node('Ratio of a pack', { ratio: '9:16', width: 3, height: 4 }) })
    expect(foreign.defaults).toMatchObject({ width: 1024, height: 1024 })
    expect(foreign.notes.join()).toContain('1024 by 1024 if none is asked for: give the version defaults')
    const left = bound(textToImage({ '5': node('EmptyLatentImage', { width: '%width%', height: '%height%' }) }))
    expect(left.notes.join()).toContain('does not say its size, 1024 by 1024 if none is asked for')
  })

  it('a size that is rounded, and what repeats it', () => {
    const { binding, defaults } = sized({
      '3': sampler({ model: ['50', 0] }),
      '5': node('EmptyLatentImage', { width: ['41', 1], height: ['42', 1], batch_size: 1 }),
      '41': node('ComfyMathExpression', { expression: 'max(((a + 15) // 16) * 16, 256)', 'values.a': ['40', 0] }),
      '42': node('SimpleMath+', { value: 'a & -16', a: ['43', 0] }),
      '43': node('PrimitiveInt', { value: ['40', 1] }),
      '50': node('ModelSamplingFlux', { width: ['41', 1], height: ['42', 1], model: ['4', 0] }),
    })
    expect(binding).toMatchObject({ width: slots('5.width 50.width'), height: slots('5.height 50.height') })
    expect(defaults).toMatchObject({ width: 768, height: 1360 })
  })

  it('what is computed of the size not at all: it follows by itself', () => {
    const { binding, notes } = bound(
      textToImage({
        '5': node('EmptyLatentImage', { width: ['40', 0], height: ['41', 0], batch_size: 1 }),
        '9': node('SaveImage', { images: ['50', 0] }),
        ...{ '40': node('PrimitiveInt', { value: 512 }), '41': node('PrimitiveInt', { value: 768 }) },
        ...{ '42': node('ComfyMathExpression', { expression: 'a * 2', 'values.a': ['40', 0] }) },
        ...{ '43': node('ComfyMathExpression', { expression: 'a * 2', 'values.a': ['41', 0] }) },
        '50': node('ImageScale', { width: ['42', 1], height: ['43', 1], crop: 'disabled', image: ['8', 0] }),
      }),
    )
    expect(binding).toMatchObject({ width: slots('40.value'), height: slots('41.value'), scaledWidth: [], scale: 2 })
    expect(notes).toEqual([])
  })

  it.each<[string, GivenGraph, Partial<Binding>]>([
    [
      'that begins from a larger latent of its own',
      {
        '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
        '30': sampler({ ...LATER, positive: ['31', 0], latent_image: ['32', 0] }),
        '31': node('PiDConditioning', { latent: ['3', 0], positive: ['6', 0] }),
        '32': node('EmptyChromaRadianceLatentImage', { width: 2048, height: 3072, batch_size: 1 }),
      },
      { scaledWidth: slots('32.width') as never, scaledHeight: slots('32.height') as never, scale: 4 },
    ],
    [
      'with a size among the inputs of a choice',
      {
        '9': node('SaveImage', { images: ['30', 0] }),
        '30': node('ResizeImageMaskNode', {
          ...{ input: ['8', 0], resize_type: 'scale dimensions', scale_method: 'area' },
          ...{ 'resize_type.width': 1024, 'resize_type.height': 1536, 'resize_type.crop': 'center' },
        }),
      },
      { scaledWidth: slots('30.resize_type.width') as never, scale: 2 },
    ],
    [
      'with a factor among the inputs of a choice',
      {
        '9': node('SaveImage', { images: ['30', 0] }),
        '30': node('ResizeImageMaskNode', {
          ...{ input: ['8', 0], resize_type: 'scale by multiplier', 'resize_type.multiplier': 1.5 },
        }),
      },
      { scaledWidth: [], scale: 1.5 },
    ],
  ])('a later pass %s', (_, changes, { scaledWidth, ...expected }) => {
    const { binding, notes } = bound(textToImage(changes))
    expect(binding).toMatchObject({ width: slots('5.width'), ...expected })
    expect(binding.scaledWidth.join()).toBe(scaledWidth?.join().replace('resize_type,', 'resize_type.'))
    expect(notes.filter((it) => it.includes('size'))).toEqual([])
  })

  it.each([
    ['EmptyLatentImage', 8],
    ['EmptySD3LatentImage', 8],
    ['EmptyFlux2LatentImage', 16],
    ['EmptyHunyuanImageLatent', 32],
    ['TextEncodeMageFlowEdit', 16],
  ])('sizes of %s in multiples of %i', (name, multiple) => {
    const latent = node(name, { width: ['40', 0], height: ['40', 0], batch_size: 1 })
    expect(bound(textToImage({ '5': latent, '40': node('PrimitiveInt', { value: 512 }) })).sizeMultiple).toBe(multiple)
  })

  it('the file’s values as defaults, with a sampler only if Easel names its pair', () => {
    expect(bound(customAdvanced()).defaults).toEqual({
      ...{ width: 512, height: 768, steps: 8, cfgScale: 4, sampler: 'dpmpp_2m_karras' },
      ...{ prompt: 'a cat', negativePrompt: 'blurred' },
    })
    const foreign = bound(textToImage({ '3': sampler({ sampler_name: 'res_multistep', scheduler: 'simple' }) }))
    expect(foreign.defaults.sampler).toBeUndefined()
    expect(foreign.fixed).toEqual([
      { parameter: 'sampler', why: "sampler has no effect: res_multistep with simple is none of Easel's samplers." },
    ])
  })

  it.each<[string, GivenGraph, string[]]>([
    ['a cfg of 1', textToImage({ '3': sampler({ cfg: 1, negative: ['6', 0] }) }), ['negative_prompt', 'cfg_scale']],
    [
      'a guider without a scale',
      customAdvanced({ '21': node('BasicGuider', { model: ['4', 0], conditioning: ['6', 0] }) }),
      ['negative_prompt', 'cfg_scale'],
    ],
    [
      'a cfg that belongs to the model',
      customAdvanced({
        '21': node('BasicGuider', { model: ['40', 0], conditioning: ['6', 0] }),
        '40': node('ModelWithCfg', { cfg: 3, model: ['4', 0] }),
      }),
      ['negative_prompt', 'cfg_scale'],
    ],
    [
      'a zeroed negative side',
      textToImage({
        '3': sampler({ negative: ['7', 0] }),
        '7': node('ConditioningZeroOut', { conditioning: ['6', 0] }),
      }),
      ['negative_prompt'],
    ],
    [
      'sigmas that a person has listed',
      customAdvanced({ '23': node('ManualSigmas', { sigmas: '1, 0.5, 0' }) }),
      ['steps', 'sampler'],
    ],
    [
      'computed steps',
      textToImage({ '3': sampler({ steps: ['40', 0] }), '40': node('StepsMath', { a: 1, b: 2 }) }),
      ['steps'],
    ],
    [
      'a sampler of its own class',
      customAdvanced({ '22': node('SamplerEulerAncestral', { eta: 1, s_noise: 1 }) }),
      ['sampler'],
    ],
    [
      'a scheduler of Flux.2',
      customAdvanced({ '23': node('Flux2Scheduler', { steps: 4, width: 512, height: 768 }) }),
      ['sampler'],
    ],
  ])('nothing for what has no effect: %s', (_, graph, parameters) => {
    expect(bound(graph).fixed.map((it) => it.parameter)).toEqual(parameters)
  })

  it('the same text of a later pass, and says which text stays', () => {
    const { binding, notes } = bound(
      textToImage({
        '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
        '30': sampler({ ...LATER, positive: ['31', 0], negative: ['32', 0], latent_image: ['3', 0], denoise: 0.4 }),
        '31': node('CLIPTextEncode', { text: 'a cat', clip: ['4', 1] }),
        '32': node('CLIPTextEncode', { text: 'another text', clip: ['4', 1] }, 'of the detailer'),
      }),
    )
    expect(binding.prompt).toEqual([
      ['6', 'text'],
      ['31', 'text'],
    ])
    expect(binding.negative).toEqual([['7', 'text']])
    expect(notes).toEqual([
      'The text of "of the detailer" (CLIPTextEncode, node 32), for "KSampler" (KSampler, node 30), stays as it is in the file.',
      'The steps, cfg and sampler of "KSampler" (KSampler, node 30) stay as they are in the file.',
    ])
  })

  const refined = (title?: string) =>
    bound(
      textToImage({
        '3': advanced({ end_at_step: 10 }),
        '6': node('CLIPTextEncode', { text: 'a cat', clip: ['4', 1] }, title),
        '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
        '30': advanced({
          ...{ add_noise: 'disable', start_at_step: 10, latent_image: ['3', 0] },
          ...{ positive: ['31', 0], negative: ['32', 0] },
        }),
        '31': node('CLIPTextEncode', { text: 'a cat, sharp', clip: ['4', 1] }, 'Refined'),
        '32': node('CLIPTextEncode', { text: 'blurred', clip: ['4', 1] }),
      }),
    )

  it('the other text of a pass that goes on with the same image, too, and says so', () => {
    expect(refined().binding).toMatchObject({ prompt: slots('6.text 31.text'), negative: slots('7.text 32.text') })
    expect(refined().notes).toEqual([
      'The text of "Refined" (CLIPTextEncode, node 31), for "KSamplerAdvanced" (KSamplerAdvanced, node 30), is replaced, too, because that one goes on with the same image.',
    ])
  })

  it('only the text with the title "prompt", and says which one stays', () => {
    expect(refined('prompt').binding.prompt).toEqual([['6', 'text']])
    expect(refined('prompt').notes[0]).toMatch(/^The text of "Refined" .* stays as it is in the file\.$/)
    const { binding, notes } = bound(
      textToImage({
        '3': sampler({ positive: ['40', 0] }),
        '6': node('CLIPTextEncode', { text: 'a cat', clip: ['4', 1] }, 'Prompt'),
        '40': node('ConditioningCombine', { conditioning_1: ['6', 0], conditioning_2: ['41', 0] }),
        '41': node('CLIPTextEncode', { text: 'a dog', clip: ['4', 1] }, 'Dog'),
      }),
    )
    expect(binding.prompt).toEqual([['6', 'text']])
    expect(notes).toEqual([
      'The text of "Dog" (CLIPTextEncode, node 41), for "KSampler" (KSampler, node 3), stays as it is in the file.',
    ])
  })

  it.each<[string, GivenGraph, string]>([
    [
      'the text of a region',
      {
        '3': sampler({ positive: ['40', 0] }),
        '40': node('GLIGENTextBoxApply', { text: 'a hat', conditioning_to: ['6', 0], clip: ['4', 1] }, 'Region'),
      },
      'The text of "Region" (GLIGENTextBoxApply, node 40), for "KSampler" (KSampler, node 3), stays as it is in the file.',
    ],
    [
      'a size by one number',
      {
        '9': node('SaveImage', { images: ['40', 0] }),
        '40': node('ImageScaleToTotalPixels', { megapixels: 2, upscale_method: 'area', image: ['8', 0] }, 'Two'),
      },
      '"Two" (ImageScaleToTotalPixels, node 40) makes all images as large as its megapixels says, whatever size is asked for: limit the version to one size, or scale by a factor instead.',
    ],
  ])('beside %s, and says that it stays', (_, changes, note) => {
    expect(bound(textToImage(changes)).notes).toEqual([note])
  })

  it('a prompt with an instruction in it only where a title says so', () => {
    const text = 'You are an assistant designed to draw anime. <Prompt Start> a cat'
    const graph = (title: string) => textToImage({ '6': node('CLIPTextEncode', { text, clip: ['4', 1] }, title) })
    expect(refusal(graph('Text'))).toMatch(
      /^"Text" \(CLIPTextEncode, node 6\) has an instruction to the model in its text, .* or give .* the title "prompt"/,
    )
    expect(bound(graph('Prompt')).binding.prompt).toEqual([['6', 'text']])
  })

  it('the other text of a later pass as the titles say', () => {
    const again = (first?: string, second?: string) =>
      textToImage({
        '6': node('CLIPTextEncode', { text: 'a cat', clip: ['4', 1] }, first),
        '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
        '30': sampler({ ...LATER, positive: ['31', 0], latent_image: ['3', 0], denoise: 0.5 }),
        '31': node('CLIPTextEncode', { text: 'a cat, from far away', clip: ['4', 1] }, second),
      })
    expect(refusal(again())).toMatch(
      /^"KSampler" \(KSampler, node 30\) goes over the image with another text, of "CLIPTextEncode" \(CLIPTextEncode, node 31\): give "CLIPTextEncode" \(CLIPTextEncode, node 6\) the title "prompt"/,
    )
    expect(bound(again('prompt')).binding.prompt).toEqual([['6', 'text']])
    expect(bound(again('prompt')).notes[0]).toMatch(/node 31\), for .* stays as it is in the file/)
    expect(bound(again('prompt', 'prompt')).binding.prompt).toEqual(slots('6.text 31.text'))
    const empty = again()
    expect(bound({ ...empty, '31': node('CLIPTextEncode', { text: ' ', clip: ['4', 1] }) }).binding.prompt).toEqual([
      ['6', 'text'],
    ])
  })

  it('a detailer beside its own text, which stays', () => {
    const { binding, notes } = bound(
      textToImage({
        '9': node('SaveImage', { images: ['30', 0] }),
        '30': node('FaceDetailer', { ...sampler().inputs, image: ['8', 0], positive: ['31', 0], latent_image: 0 }),
        '31': node('CLIPTextEncode', { text: 'a face', clip: ['4', 1] }, 'Face'),
      }),
    )
    expect(binding.prompt).toEqual([['6', 'text']])
    expect(notes[0]).toBe(
      'The text of "Face" (CLIPTextEncode, node 31), for "FaceDetailer" (FaceDetailer, node 30), stays as it is in the file.',
    )
  })

  it('no negative text that has no effect, and says nothing of it', () => {
    expect(bound(textToImage({ '3': sampler({ cfg: 1 }) })).notes).toEqual([])
  })

  it('a second model that begins as the first one does, at the same size', () => {
    const { binding } = bound(
      textToImage({
        '5': node('StableCascade_EmptyLatentImage', { width: 1024, height: 1024, compression: 42, batch_size: 1 }),
        '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
        '30': sampler({ ...LATER, positive: ['31', 0], latent_image: ['5', 1] }),
        '31': node('StableCascade_StageB_Conditioning', { conditioning: ['6', 0], stage_c: ['3', 0] }),
      }),
    )
    expect(binding.scale).toBe(1)
  })

  it.each(['ImageInvert', 'ImageFlip', 'AdjustBrightness'])('the size of an image that goes through %s', (name) => {
    const input = name === 'AdjustBrightness' ? 'images' : 'image'
    const graph = textToImage({
      '30': node(name, { [input]: ['8', 0] }),
      '9': node('SaveImage', { filename_prefix: 'a', images: ['30', 0] }),
    })
    expect(bound(graph).binding.scale).toBe(1)
  })

  it('a prompt that something is made of, and says what', () => {
    const { notes } = bound(
      textToImage({
        '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
        '40': node('TextGenerate', { prompt: ['41', 0], clip: ['4', 1] }, 'Enlarge'),
        '41': node('PrimitiveString', { value: 'a cat' }),
      }),
    )
    expect(notes).toEqual([
      '"Enlarge" (TextGenerate, node 40) makes its text of the one that is asked for and of what stays as it is in the file.',
    ])
  })

  it('a part of a joined text that a title points out, and says nothing else of that text', () => {
    const joined = (title?: string) =>
      textToImage({
        '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
        '40': node('StringConcatenate', { string_a: ['41', 0], string_b: ', masterpiece', delimiter: '' }),
        '41': node('PrimitiveString', { value: 'a cat' }, title),
      })
    expect(bound(joined('Prompt'))).toMatchObject({ binding: { prompt: [['41', 'value']] }, notes: [] })
  })

  it('the first text of a guider with two, and says that the second stays', () => {
    const dual = (text: string) =>
      bound(
        customAdvanced({
          '21': node('DualCFGGuider', {
            ...{
              model: ['4', 0],
              cfg_conds: 5,
              cfg_cond2_negative: 2,
              cond1: ['6', 0],
              cond2: ['40', 0],
              negative: ['7', 0],
            },
          }),
          '40': node('CLIPTextEncode', { text, clip: ['4', 1] }, 'Second'),
        }),
      )
    expect(dual('a cat').binding).toMatchObject({
      prompt: [
        ['6', 'text'],
        ['40', 'text'],
      ],
      cfg: [['21', 'cfg_conds']],
    })
    expect(dual('a dog').binding.prompt).toEqual([['6', 'text']])
    expect(dual('a dog').notes).toEqual([
      'The text of "Second" (CLIPTextEncode, node 40), for "SamplerCustomAdvanced" (SamplerCustomAdvanced, node 3), stays as it is in the file.',
    ])
  })

  it.each<[string, GivenGraph, Record<string, unknown>]>([
    [
      'prompt and negative',
      textToImage({
        '3': sampler({ positive: ['40', 0], negative: ['40', 1] }),
        '40': node('Couple', { positive: ['41', 0], negative: ['41', 0] }),
        '41': node('Join', { conditioning_1: ['6', 0], conditioning_2: ['7', 0] }),
        '6': node('CLIPTextEncode', { text: 'a', clip: ['4', 1] }, 'Positive'),
        '7': node('CLIPTextEncode', { text: 'b', clip: ['4', 1] }, 'easel:negative'),
      }),
      { prompt: [['6', 'text']], negative: [['7', 'text']] },
    ],
    [
      'size',
      textToImage({
        '5': node('LatentOfPack', { size: ['40', 0], batch_size: 4 }),
        '40': node('Resolution', { width: 512, height: 768 }, 'size'),
      }),
      { width: [['40', 'width']], batch: [['5', 'batch_size']], height: [['40', 'height']] },
    ],
    [
      'width and height',
      textToImage({
        '5': node('LatentOfPack', { w: ['40', 0], h: ['41', 0] }),
        '40': node('PrimitiveInt', { value: 512 }, 'Width'),
        '41': node('PrimitiveInt', { value: 768 }, 'Height'),
      }),
      { width: [['40', 'value']], height: [['41', 'value']] },
    ],
    [
      'seed',
      textToImage({
        '3': sampler({ seed: ['40', 0] }),
        '40': node('Hash', { seed: 7, b: ['41', 0] }, 'seed'),
        '41': node('PrimitiveInt', { value: 1 }),
      }),
      { seed: [['40', 'seed']] },
    ],
    [
      'steps',
      textToImage({
        '3': sampler({ steps: ['40', 0] }),
        '40': node('Sum', { a: ['41', 0], b: 1 }),
        '41': node('PrimitiveInt', { value: 9 }, 'steps'),
      }),
      { steps: [['41', 'value']] },
    ],
    [
      'cfg',
      textToImage({
        '3': sampler({ cfg: 1 }),
        '6': node('FluxGuidance', { guidance: 3.5, conditioning: ['40', 0] }, 'cfg'),
        '40': node('CLIPTextEncode', { text: 'a', clip: ['4', 1] }),
      }),
      { cfg: [['6', 'guidance']] },
    ],
    [
      'sampler',
      textToImage({
        '40': sampler({}, 'Sampler'),
        '41': node('VAEDecode', { samples: ['40', 0], vae: ['4', 2] }),
        '42': node('ImageBlend', { image1: ['8', 0], image2: ['41', 0] }),
        '9': node('SaveImage', { images: ['42', 0] }),
      }),
      {
        steps: [['40', 'steps']],
        seed: [
          ['3', 'seed'],
          ['40', 'seed'],
        ],
      },
    ],
  ])('what a person has pointed out with the title %s', (_, graph, expected) => {
    expect(bound(graph).binding).toMatchObject(expected)
  })

  it('what the server calls an output node, whatever its name', () => {
    const graph = textToImage({ '9': node('Zauber', { images: ['8', 0] }) })
    expect(refusal(graph)).toContain('saves no image')
    expect(bound(graph, { outputClasses: new Set(['Zauber']) }).binding.output).toEqual(['8', 0])
  })

  it('a text beside an image that lies on the server, once its loader is allowed', () => {
    const graph = textToImage({
      '3': sampler({ positive: ['40', 0], negative: ['40', 1] }),
      '40': node('ControlNetApplyAdvanced', { positive: ['6', 0], negative: ['7', 0], image: ['41', 0] }),
      '41': node('LoadImage', { image: 'pose.png' }),
    })
    expect(refusal(graph)).toContain('loads an image')
    expect(bound(graph, { allowNodes: ['LoadImage'] }).binding.prompt).toEqual([['6', 'text']])
  })

  it('a node that may reach further, once its class is allowed', () => {
    const graph = textToImage({ '4': node('LoadCheckpointFromUrl', { url: 'https://x.example/a.safetensors' }) })
    expect(refusal(graph)).toBe(
      "\"LoadCheckpointFromUrl\" (LoadCheckpointFromUrl, node 4) can reach files or addresses outside the server's models at url: remove it, or allow it with --allow-node 'LoadCheckpointFromUrl' if you trust it.",
    )
    expect(bound(graph, { allowNodes: ['LoadCheckpointFromUrl'] }).binding.prompt).toEqual([['6', 'text']])
  })
})
