import { createHash, randomUUID } from 'node:crypto'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import type { ModelDefinition } from '../../../src/core/catalog/model-definition.js'
import { finishImage } from '../../../src/images/finish-image.js'
import type { ComfyuiOptions } from '../../../src/inference/comfyui/comfyui-backend.js'
import { workflowDocument } from '../../../src/inference/comfyui/workflow/workflow-definition.js'
import type { StandInOptions } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import { until } from '../../support/until.js'
import { failureOf, PONY } from '../given.js'
import { definitionOf as optionsOf } from '../given-definition.js'
import { givenBackend, VERSIONS } from './given.js'
import { bound, type GivenGraph, node, sampler, textToImage } from './workflow/given-graphs.js'

type Nodes = Record<string, { class_type: string; inputs: Record<string, unknown> }>

/** Its files are split, and a LoRA changes the model. */
const SPLIT: GivenGraph = textToImage({
  '3': sampler({ model: ['10', 0] }),
  '4': node('UNETLoader', { unet_name: 'flux/dev.safetensors', weight_dtype: 'default' }),
  '11': node('CLIPLoader', { clip_name: 't5.safetensors', type: 'flux' }),
  '12': node('VAELoader', { vae_name: 'ae.safetensors' }),
  '10': node(
    'LoraLoader',
    {
      ...{ model: ['4', 0], clip: ['11', 0], lora_name: 'ink.safetensors' },
      ...{ strength_model: 1, strength_clip: 1 },
    },
    'The ink',
  ),
  '6': node('CLIPTextEncode', { text: 'a cat', clip: ['10', 1] }),
  '7': node('CLIPTextEncode', { text: 'blurred', clip: ['10', 1] }),
  '8': node('VAEDecode', { samples: ['3', 0], vae: ['12', 0] }),
})
const LOADS = {
  unet: ['flux/dev.safetensors'],
  clip: ['t5.safetensors'],
  vae: ['ae.safetensors'],
  lora: ['ink.safetensors'],
}
const FLUX = 'flux@1'

function definitionOf(filename: string, graph: GivenGraph, scale?: number): ModelDefinition {
  const workflow = bound(graph)
  const document = JSON.stringify(workflowDocument(workflow, scale ?? workflow.binding.scale ?? 1))
  return { filename, hash: createHash('sha256').update(document).digest('hex'), document }
}

async function given(
  graph: GivenGraph = SPLIT,
  standIn: StandInOptions = { loads: LOADS },
  options: Partial<ComfyuiOptions> = {},
) {
  const definition = definitionOf(FLUX, graph)
  const backend = await givenBackend(standIn, { definitions: async () => [definition], ...options })
  const pixels = async (seeds: readonly number[]) =>
    Promise.all((await backend.generate({ model: FLUX, seeds })).map(({ bytes }) => sharp(bytes).raw().toBuffer()))
  return { ...backend, definition, pixels, nodes: () => backend.standIn.asked().at(-1)?.prompt as Nodes }
}

describe.each(VERSIONS)('a workflow on a server (%s)', (version) => {
  it('is offered beside the checkpoints, and drawn with what was asked for', async () => {
    const { capabilities, generate, nodes, definition } = await given(SPLIT, { version, loads: LOADS })
    // One look has a second and a half for all classes, which a busy machine may need for a few.
    const models = await until(async () => {
      const { models } = await capabilities()
      return models?.includes(FLUX) ? models : undefined
    })
    expect(models).toContain(PONY)
    const [image] = await generate({ model: FLUX, prompt: 'a fox', negativePrompt: 'fog', width: 128, height: 64 })
    expect(nodes()['4']).toEqual(SPLIT['4'])
    expect(nodes()['5']?.inputs).toEqual({ width: 128, height: 64, batch_size: 1 })
    expect([nodes()['6']?.inputs.text, nodes()['7']?.inputs.text]).toEqual(['a fox', 'fog'])
    expect(image?.size).toEqual({ width: 128, height: 64 })
    expect(image?.madeWith).toMatchObject({
      ...{ backend: 'comfyui', sampler: 'euler_ancestral', scheduler: 'normal' },
      definition: { name: FLUX, hash: definition.hash },
    })
  })

  it('draws a batch as it draws single images', async () => {
    const { pixels } = await given(SPLIT, { version, loads: LOADS })
    const batch = await pixels([7, 8, 9])
    for (const [n, seed] of [7, 8, 9].entries())
      expect(batch[n]?.equals((await pixels([seed]))[0] as Buffer)).toBe(true)
    expect(batch[0]?.equals(batch[1] as Buffer)).toBe(false)
  })
})

describe('what a server lacks for a workflow', () => {
  it.each([
    [
      'a class of nodes',
      { without: 'LoraLoader' },
      'It has no node class "LoraLoader", which "The ink" (LoraLoader, node 10) needs: install the node pack that has it.',
    ],
    [
      'a file',
      { loads: { ...LOADS, lora: ['oil.safetensors', 'chalk.safetensors'] } },
      'It has no "ink.safetensors" for lora_name of "The ink" (LoraLoader, node 10): put that file where the server looks for it, or choose another in the workflow; it has oil.safetensors, chalk.safetensors.',
    ],
    [
      'files of a folder',
      { loads: { ...LOADS, vae: [] } },
      'It has no "ae.safetensors" for vae_name of "VAELoader" (VAELoader, node 12): put that file where the server looks for it, or choose another in the workflow; it has nothing.',
    ],
  ])(
    'is said for %s, and the workflow is not offered',
    async (_, { without, loads = LOADS }: { without?: string; loads?: object }, sentence) => {
      const { standIn, capabilities, generate } = await given(SPLIT, { loads })
      if (without) delete standIn.nodes[without]
      const { models, lacks } = await capabilities()
      expect(models).toContain(PONY)
      expect(models).not.toContain(FLUX)
      expect(lacks?.get(FLUX)).toEqual([sentence])
      expect((await failureOf(generate({ model: FLUX }))).kind).toBe('model_missing')
      expect(standIn.asked()).toEqual([])
    },
  )

  it('is said for an input that its version of a node needs, unless the editor would fill it in', async () => {
    const { standIn, capabilities } = await given()
    Object.assign(standIn.nodes.VAELoader as object, { dtype: ['gpu', 'cpu'] })
    Object.assign(standIn.nodes.UNETLoader as object, { device: 'LINK' })
    expect((await capabilities()).lacks?.get(FLUX)).toEqual([
      'Its "UNETLoader" (UNETLoader, node 4) needs device, which the workflow does not have: export the workflow from this server\'s ComfyUI, and import it again.',
    ])
  })

  it('is found out anew where a newer version of a node has one input more, which then gets what the editor would write', async () => {
    const { standIn, generate, nodes } = await given()
    await generate({ model: FLUX })
    Object.assign(standIn.nodes.VAELoader as object, { device: ['gpu', 'cpu'] })
    expect((await failureOf(generate({ model: FLUX }))).kind).toBe('model_missing')
    await generate({ model: FLUX })
    expect(nodes()['12']?.inputs).toEqual({ vae_name: 'ae.safetensors', device: 'gpu' })
  })

  it.each([
    ['new', []],
    ['0.3.64', ['It has no node class "ConditioningAverage"']],
  ] as const)(
    'is nothing where the server itself puts another class in the place of one (%s)',
    async (version, said) => {
      const average = node('ConditioningAverage ', { conditioning_to: ['6', 0], conditioning_from: ['6', 0] })
      const graph = { ...SPLIT, '3': sampler({ model: ['10', 0], positive: ['40', 0] }), '40': average }
      const { capabilities } = await given(graph, { version, loads: LOADS })
      expect((await capabilities()).lacks?.get(FLUX) ?? []).toEqual(said.map((it) => expect.stringContaining(it)))
    },
  )

  it('is nothing where only the slashes of a path differ, and the server gets its own spelling', async () => {
    const { generate, nodes } = await given(SPLIT, { loads: { ...LOADS, unet: ['flux\\dev.safetensors'] } })
    await generate({ model: FLUX })
    expect(nodes()['4']?.inputs.unet_name).toBe('flux\\dev.safetensors')
  })

  it.each([
    ['a class', 'LoraLoader', (nodes: Record<string, object>) => delete nodes.LoraLoader],
    [
      'a file',
      'LoraLoader',
      (nodes: Record<string, object>) => Object.assign(nodes.LoraLoader ?? {}, { lora_name: [] }),
    ],
    [
      'an input',
      'VAELoader',
      (nodes: Record<string, object>) => Object.assign(nodes.VAELoader ?? {}, { device: 'LINK' }),
    ],
  ])('while work waits, such as %s, is no fault of the generation, and is found out anew', async (_, name, take) => {
    const { standIn, generate, capabilities } = await given()
    await generate({ model: FLUX })
    const kept = { ...standIn.nodes[name] }
    take(standIn.nodes)
    expect((await failureOf(generate({ model: FLUX }))).kind).toBe('model_missing')
    expect((await capabilities()).models).not.toContain(FLUX)
    expect(await generate()).toHaveLength(1)
    standIn.nodes[name] = kept
    // Until that fails or is old, what is known stays; another failure makes it look again.
    expect((await failureOf(generate({ model: 'other.safetensors' }))).kind).toBe('model_missing')
    expect((await capabilities()).models).toContain(FLUX)
  })

  it.each([
    ['UNETLoader', 'safetensors_rust.SafetensorError', 'Error while deserializing header: incomplete metadata'],
    ['LoraLoader', 'FileNotFoundError', 'Model in folder loras with filename ink.safetensors not found.'],
  ])('may be a damaged file, which %s finds: no fault of the generation either', async (nodeClass, type, message) => {
    const { standIn, generate } = await given()
    standIn.set({ run: { node: nodeClass, type, message } })
    expect((await failureOf(generate({ model: FLUX }))).kind).toBe('model_missing')
  })

  it('is asked for by class, once, and not again with each look', async () => {
    const { standIn, capabilities } = await given()
    for (let look = 0; look < 3; look++) await capabilities()
    const asked = standIn.journal.map(({ path }) => path).filter((path) => path === '/object_info/UNETLoader')
    expect(asked).toHaveLength(1)
    expect(standIn.journal.map(({ path }) => path)).not.toContain('/object_info')
  })

  it('is not known while the server does not answer in time: neither offered nor said to be missing', async () => {
    const { standIn, capabilities } = await given()
    standIn.set({ fault: 'hang', on: 'GET /object_info/LoraLoader' })
    const { models, lacks } = await capabilities()
    expect([models?.includes(PONY), models?.includes(FLUX), lacks?.size]).toEqual([true, false, 0])
    standIn.set({ fault: 'none' })
    expect((await capabilities()).models).toContain(FLUX)
  })
})

it.each([
  ['KSampler', 'steps', { min: 1, max: 10 }, { steps: 11 }, 'steps must be at most 10 for this model.'],
  ['KSampler', 'cfg', { min: 2, max: 9 }, { cfgScale: 1.5 }, 'cfg_scale must be at least 2 for this model.'],
  ['EmptyLatentImage', 'width', { min: 16, max: 64 }, { width: 72 }, 'width must be at most 64 for this model.'],
])('a number that a node is refused with is not sent: %s.%s', async (name, input, range, more, sentence) => {
  const { standIn, generate } = await given()
  Object.assign(standIn.nodes[name] ?? {}, { [input]: range })
  const usual = { model: FLUX, width: 64, height: 64, steps: 5, cfgScale: 3 }
  const { kind, publicMessage } = await failureOf(generate({ ...usual, ...more }))
  expect({ kind, publicMessage }).toEqual({ kind: 'unsupported', publicMessage: sentence })
  expect(standIn.asked()).toEqual([])
  expect(await generate(usual)).toHaveLength(1)
})

it('a checkpoint with options is not for ComfyUI, which is said', async () => {
  const { capabilities } = await givenBackend({}, { definitions: async () => [optionsOf('pony@1', { clip_skip: 2 })] })
  const { models, lacks } = await capabilities()
  expect(models).not.toContain('pony@1')
  expect(lacks?.get('pony@1')).toEqual(['ComfyUI draws checkpoints without options: import a workflow that has them.'])
})

describe('a workflow that scales the image', () => {
  const twice = textToImage({
    '20': node('ImageScaleBy', { image: ['8', 0], upscale_method: 'lanczos', scale_by: 1.5 }),
    '9': node('SaveImage', { filename_prefix: 'ComfyUI', images: ['20', 0] }),
    '4': node('CheckpointLoaderSimple', { ckpt_name: PONY }),
  })

  it('has the size that it really has', async () => {
    const { generate } = await given(twice)
    const [image] = await generate({ model: FLUX, width: 72, height: 64 })
    expect(image?.size).toEqual({ width: 108, height: 96 })
  })

  it('is refused where the image has another one', async () => {
    const definitions = async () => [definitionOf(FLUX, twice, 4)]
    const { generate } = await givenBackend({}, { definitions })
    expect(await failureOf(generate({ model: FLUX }))).toMatchObject({
      kind: 'invalid_request',
      message: expect.stringContaining('drew 96x96 instead of 256x256: the workflow does so each time'),
    })
  })
})

it.each([FLUX, PONY])(
  'a model that draws in larger steps than its latent says (%s) names the step to both sides',
  async (model) => {
    const pony = textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: PONY }) })
    const { generate, standIn } = await given(pony, {})
    standIn.set({ run: 'sizes_of_16' })
    expect(await failureOf(generate({ model, width: 72, height: 64 }))).toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('drew 64x64 instead of 72x64: give the model version "size_multiple": 16'),
      publicMessage: 'width and height must be multiples of 16 for this model.',
    })
    const [image] = await generate({ model, width: 80, height: 64 })
    expect(image?.size).toEqual({ width: 80, height: 64 })
  },
)

describe('what a workflow does each time', () => {
  it('is not tried again on that server: an error of a node that gets what it cannot use', async () => {
    const { generate, standIn } = await given(
      textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: PONY }) }),
      {},
    )
    const failing = (type: string, message: string) => {
      standIn.set({ run: { node: 'KSampler', type, message } })
      return failureOf(generate({ model: FLUX }))
    }
    for (const [type, message] of [
      ['ValueError', 'too few sigmas'],
      ['ModuleNotFoundError', "No module named 'insightface'"],
      // Nodes that read what the editor alone sends along.
      ['TypeError', "'NoneType' object is not subscriptable"],
      ['KeyError', "'workflow'"],
      ['AttributeError', "'NoneType' object has no attribute 'shape'"],
      ['NameError', "name 'comfy' is not defined"],
      ['Exception', 'Unauthorized: Please login first to use this node.'],
      ['RuntimeError', 'mat1 and mat2 shapes cannot be multiplied (77x2048 and 768x320)'],
      ['RuntimeError', 'The size of tensor a (64) must match the size of tensor b (96) at non-singleton dimension 3'],
    ] as const)
      expect(await failing(type, message)).toMatchObject({
        kind: 'invalid_request',
        message: expect.stringMatching(/failed in KSampler: .*the workflow does so each time/),
      })
    expect(await failing('RuntimeError', 'CUDA error: device-side assert')).toMatchObject({ kind: 'backend_fault' })
  })

  it('is said where a node of another version refuses what another one makes', async () => {
    const { standIn, generate } = await given()
    const mismatch = { type: 'return_type_mismatch', message: 'Return type mismatch between linked nodes' }
    const errors = [
      { ...mismatch, details: 'scheduler, received_type(A) mismatch', extra_info: { input_name: 'clip' } },
    ]
    const error = { type: 'prompt_outputs_failed_validation', message: 'Prompt outputs failed validation' }
    const body = { error, node_errors: { '10': { class_type: 'LoraLoader', errors } } }
    standIn.set({ fault: { status: 400, body }, on: 'POST /prompt' })
    expect(await failureOf(generate({ model: FLUX }))).toMatchObject({
      kind: 'invalid_request',
      message: expect.stringContaining('refused the prompt: LoraLoader clip return_type_mismatch'),
      publicMessage: 'This model is not set up correctly and cannot be drawn with these settings.',
    })
  })

  it('is not that images are black, which are refused like those of other models', async () => {
    const { generate, standIn } = await given(
      textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: PONY }) }),
      {},
    )
    standIn.set({ run: 'black_image' })
    const [image] = await generate({ model: FLUX, seeds: [1, 2], width: 64, height: 64 })
    const expected = { width: 64, height: 64, seed: 1, model: FLUX }
    expect(await failureOf(finishImage(image?.bytes as Buffer, expected))).toMatchObject({ kind: 'bad_output' })
  })

  it('is not charged: the same image for several seeds', async () => {
    const { generate, standIn } = await given(
      textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: PONY }) }),
      {},
    )
    standIn.set({ run: 'same_image' })
    expect(await failureOf(generate({ model: FLUX, seeds: [1, 2] }))).toMatchObject({
      kind: 'invalid_request',
      message: expect.stringContaining('drew the same image for several seeds'),
    })
    expect(await generate({ model: FLUX, seeds: [1] })).toHaveLength(1)
  })
})

it('a workflow with a sampler of its own draws with it, whatever is asked for', async () => {
  const graph = textToImage({
    '3': sampler({ sampler_name: 'res_multistep', scheduler: 'simple', cfg: 1, steps: 8 }),
    '4': node('CheckpointLoaderSimple', { ckpt_name: PONY }),
  })
  const { generate, nodes } = await given(graph)
  const [image] = await generate({ model: FLUX, sampler: 'heun', cfgScale: 9, steps: 6 })
  expect(nodes()['3']?.inputs).toMatchObject({ sampler_name: 'res_multistep', scheduler: 'simple', cfg: 1, steps: 6 })
  expect(image?.madeWith).toMatchObject({ sampler: 'res_multistep', scheduler: 'simple' })
})

it('an extension that changes what was asked for is found out; a literal that the server casts is not', async () => {
  const cast = textToImage({
    '3': sampler({ denoise: '1' }),
    '4': node('CheckpointLoaderSimple', { ckpt_name: PONY }),
  })
  const { standIn, generate } = await given(cast)
  const ranWith = async (change: (nodes: Nodes) => void) => {
    // Its own: what is erased after an image must not be this one's.
    const attemptId = randomUUID()
    await generate({ model: FLUX, seeds: [3] })
    const prompt = structuredClone(standIn.asked().at(-1)?.prompt) as Nodes
    change(prompt)
    const outputs = { easel_image_0: { images: [{ filename: 'x.png', subfolder: '', type: 'temp' }] } }
    const status = { status_str: 'success', completed: true, messages: [] }
    const body = { [attemptId]: { prompt: [0, attemptId, prompt, {}, []], outputs, status } }
    const [drawn] = await generate({ model: FLUX, seeds: [3] })
    standIn.files.set('temp/x.png', drawn?.bytes as Buffer)
    standIn.set({ fault: { status: 200, body }, on: 'GET /history' })
    return generate({ model: FLUX, attemptId, seeds: [3] }).finally(() => standIn.set({ fault: 'none' }))
  }
  expect(await ranWith((nodes) => Object.assign(nodes['3']?.inputs ?? {}, { denoise: 1 }))).toHaveLength(1)
  const changed = await failureOf(ranWith((nodes) => Object.assign(nodes['6']?.inputs ?? {}, { text: 'a styled cat' })))
  expect(changed).toMatchObject({ kind: 'bad_output', message: expect.stringContaining('with other settings') })
})
