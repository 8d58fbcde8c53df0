import { describe, expect, it } from 'vitest'
import type { GenerationParameters } from '../../../../src/core/generations/generation.js'
import { fillWorkflow } from '../../../../src/inference/comfyui/workflow/fill-workflow.js'
import { wireOf } from '../../../../src/inference/comfyui/workflow/workflow-graph.js'
import { bound, type GivenGraph, graphFile, node, sampler, textToImage } from './given-graphs.js'

const VALUES = {
  ...{ prompt: 'a dog', negativePrompt: 'dull', width: 512, height: 384, steps: 10, cfgScale: 3 },
  sampler: 'heun',
} as const
const HEUN = { name: 'heun', schedule: 'karras' }
const ofFile = (name: string) => bound(JSON.parse(graphFile(name)))
const filled = (name: string, seeds: readonly number[] = [5], values: GenerationParameters = VALUES) =>
  fillWorkflow(ofFile(name), values, HEUN, seeds, 'attempt')

/** A node with all that it needs, without the ids, which do not matter to the server: the drawing of one image. */
function drawing(nodes: ReturnType<typeof fillWorkflow>['nodes'], id: string): unknown {
  const inputs = Object.entries(nodes[id]?.inputs ?? {}).map(([input, value]) => {
    const wire = wireOf(value)
    return [input, wire ? [drawing(nodes, wire[0]), wire[1]] : value]
  })
  return { class: nodes[id]?.class_type, inputs: Object.fromEntries(inputs) }
}

const FILES = [
  ...[
    'a-split-files',
    'b-lora',
    'c-clip-skip',
    'd-v-prediction-zsnr',
    'e-hires-two-pass',
    'f-sampler-custom-advanced-cfg',
  ],
  ...['f2-sampler-custom-advanced-basic-flux-style', 'g-image-scale-after-decode', 'h-save-animated-webp'],
  ...['i-missing-node-class', 'j-missing-file', 'n-primitives', 'o-base-refiner-advanced'],
]

describe.each(FILES)('%s', (name) => {
  it('draws a batch as it draws single images', () => {
    const seeds = [5, 6, 4294967295]
    const batch = filled(name, seeds)
    expect(batch.images.map(({ seed }) => seed)).toEqual(seeds)
    for (const { seed, saveNode } of batch.images) {
      const single = filled(name, [seed])
      expect(drawing(batch.nodes, saveNode)).toEqual(drawing(single.nodes, single.images[0]?.saveNode as string))
    }
    const drawings = batch.images.map(({ saveNode }) => JSON.stringify(drawing(batch.nodes, saveNode)))
    expect(new Set(drawings).size).toBe(3)
  })

  it('draws what the file draws, when it gets the file’s values', () => {
    const { graph, binding, defaults } = ofFile(name)
    const seed = Number(graph[binding.seed[0]?.[0] as string]?.inputs[binding.seed[0]?.[1] as string])
    const { width, height, steps = 0, cfgScale = 0, prompt = '', negativePrompt = '' } = defaults
    const { nodes } = fillWorkflow(
      { graph, binding, defaults },
      { width, height, steps, cfgScale, prompt, negativePrompt, sampler: 'euler' },
      undefined,
      [seed],
      'attempt',
    )
    for (const id of binding.keep) {
      const seeds = new Set(binding.seed.filter(([node]) => node === id).map(([, input]) => input))
      const rest = (inputs: object = {}) => Object.entries(inputs).filter(([input]) => !seeds.has(input))
      expect([id, rest(nodes[id]?.inputs)]).toEqual([id, rest(graph[id]?.inputs)])
    }
  })

  it('has no wire to a node that is not sent, sends no node that is not used, and runs shared nodes once', () => {
    const { nodes, images, samplers, written } = filled(name, [1, 2, 3, 4])
    const wires = Object.values(nodes).flatMap(({ inputs }) =>
      Object.values(inputs).flatMap((it) => wireOf(it)?.[0] ?? []),
    )
    expect(wires.filter((id) => !Object.hasOwn(nodes, id))).toEqual([])
    const used = new Set([...wires, ...images.map(({ saveNode }) => saveNode)])
    expect(Object.keys(nodes).filter((id) => !used.has(id))).toEqual([])
    expect(samplers.filter(({ node: id }) => !Object.hasOwn(nodes, id))).toEqual([])
    expect(samplers).toHaveLength(4 * ofFile(name).binding.samplers.length)
    for (const [id, input] of written) expect(nodes[id]?.inputs).toHaveProperty(input)
    const loaders = Object.values(nodes).filter((it) => /Loader/.test(it.class_type))
    const inFile = ofFile(name).needs.files
    expect(loaders.length).toBeLessThanOrEqual(inFile.length)
  })
})

describe('a filled workflow', () => {
  it.each([
    ['f-sampler-custom-advanced-cfg', [10]],
    ['e-hires-two-pass', [10, 4]],
    ['o-base-refiner-advanced', [8, 2]],
  ])('%s counts the steps of its samplers as %o', (name, steps) => {
    const { samplers } = filled(name)
    expect(samplers.map((it) => it.steps).toSorted((a, b) => b - a)).toEqual(steps)
  })

  it('has the values where they are bound', () => {
    const { nodes, images } = filled('a-split-files', [5, 6])
    expect(nodes['3']?.inputs).toMatchObject({ seed: 5, steps: 10, cfg: 3, sampler_name: 'heun', scheduler: 'karras' })
    expect(nodes['3_1']?.inputs).toMatchObject({ seed: 6, steps: 10, positive: ['6', 0], latent_image: ['5', 0] })
    expect(nodes['5']?.inputs).toEqual({ width: 512, height: 384, batch_size: 1 })
    expect([nodes['6']?.inputs.text, nodes['7']?.inputs.text]).toEqual(['a dog', 'dull'])
    expect(images.map(({ saveNode }) => nodes[saveNode])).toEqual([
      { class_type: 'PreviewImage', inputs: { images: ['8', 0], easel_attempt: 'attempt' } },
      { class_type: 'PreviewImage', inputs: { images: ['8_1', 0], easel_attempt: 'attempt' } },
    ])
  })

  it('keeps the ratio of a later pass, to multiples of 8', () => {
    const { nodes } = filled('e-hires-two-pass', [5], { ...VALUES, width: 320, height: 264 })
    expect(nodes['10']?.inputs).toMatchObject({ width: 480, height: 400 })
    expect(nodes['11']?.inputs).toMatchObject({ seed: 5, steps: 4, cfg: 8, sampler_name: 'dpmpp_2m', denoise: 0.5 })
  })

  it.each([
    [5, 4, 4],
    [10, 8, 8],
    [50, 40, 40],
    [2, 2, 2],
    [1, 1, 1],
  ])('of %i steps divides a chain as the file does, and leaves its open end', (steps, end, start) => {
    const { nodes } = filled('o-base-refiner-advanced', [5], { ...VALUES, steps })
    expect(nodes['3']?.inputs).toMatchObject({ steps, start_at_step: 0, end_at_step: end, noise_seed: 5 })
    expect(nodes['13']?.inputs).toMatchObject({ steps, start_at_step: start, end_at_step: 10000, noise_seed: 0 })
  })

  it('keeps the file’s sampler where none is chosen', () => {
    const { nodes } = fillWorkflow(ofFile('a-split-files'), VALUES, undefined, [5], 'attempt')
    expect(nodes['3']?.inputs).toMatchObject({ sampler_name: 'euler', scheduler: 'normal' })
  })

  it('gives copies ids that the file does not use', () => {
    const workflow = bound(
      textToImage({
        '3': sampler({ positive: ['3_1', 0], negative: ['8_1', 0] }),
        '3_1': node('CLIPTextEncode', { text: 'a cat', clip: ['easel_image_0', 1] }),
        '8_1': node('CLIPTextEncode', { text: 'blurred', clip: ['4', 1] }),
        easel_image_0: node('CheckpointLoaderSimple', { ckpt_name: 'b.safetensors' }),
      }),
    )
    const { nodes, images } = fillWorkflow(workflow, VALUES, HEUN, [1, 2], 'attempt')
    expect(nodes['3_1']?.inputs.text).toBe('a dog')
    expect(nodes.easel_image_0?.class_type).toBe('CheckpointLoaderSimple')
    const seeds = images.map(({ saveNode }) => JSON.stringify(drawing(nodes, saveNode)).match(/"seed":(\d)/)?.[1])
    expect(seeds).toEqual(['1', '2'])
  })

  it('keeps a node called __proto__', () => {
    const workflow = bound(JSON.parse(JSON.stringify(textToImage()).replaceAll('"3"', '"__proto__"')))
    const { nodes } = fillWorkflow(workflow, VALUES, HEUN, [1], 'attempt')
    expect(JSON.parse(JSON.stringify(nodes))).toHaveProperty(['8', 'inputs', 'samples'], ['__proto__', 0])
    expect(Object.keys(nodes)).toContain('__proto__')
  })
})

describe('a prompt with orders in it', () => {
  const ORDERS = 'a cat <lora:ink:1> __animals__ {a|<hypernet:x:1>}'
  const drawn = (graph: GivenGraph) => {
    const workflow = bound(graph)
    const { nodes } = fillWorkflow(
      workflow,
      { ...VALUES, prompt: ORDERS, negativePrompt: '<lora:b:1>' },
      HEUN,
      [5],
      'x',
    )
    return { nodes, notes: workflow.notes.filter((note) => note.includes('stays text')) }
  }
  const from = (text: unknown) => node('CLIPTextEncode', { text, clip: ['4', 1] })
  const power = { prompt: 'a cat', opt_model: ['4', 0], opt_clip: ['4', 1], insert_lora: 'CHOOSE' }

  it.each<[string, GivenGraph, string, string]>([
    ['a node that loads what they name', { '6': node('Power Prompt (rgthree)', power) }, '6', 'prompt'],
    [
      'an encoder of wildcards',
      { '6': node('Wildcard Encode (Inspire)', { text: 'a cat', clip: ['4', 1] }) },
      '6',
      'text',
    ],
    [
      'a node that the text comes to',
      { '6': from(['41', 0]), '40': node('Text', { text: 'a cat' }), '41': node('LoraTagLoader', { text: ['40', 0] }) },
      '40',
      'text',
    ],
  ])('is text for %s', (_, changes, id, input) => {
    const { nodes, notes } = drawn(textToImage(changes))
    expect(nodes[id]?.inputs[input]).not.toMatch(/<\w+:|__/)
    expect(nodes[id]?.inputs[input]).toContain('a cat')
    expect(notes).not.toEqual([])
  })

  it('stays as it is typed for nodes that only encode', () => {
    const { nodes, notes } = drawn(
      textToImage({
        '6': from(['40', 0]),
        '40': node('StringConstantMultiline', { string: 'a cat', strip_newlines: true }),
      }),
    )
    expect(nodes['40']?.inputs.string).toBe(ORDERS)
    expect(nodes['7']?.inputs.text).toBe('<lora:b:1>')
    expect(notes).toEqual([])
  })
})
