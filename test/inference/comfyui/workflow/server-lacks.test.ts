import { describe, expect, it } from 'vitest'
import { describedClass } from '../../../../src/inference/comfyui/node-classes.js'
import { fillWorkflow } from '../../../../src/inference/comfyui/workflow/fill-workflow.js'
import { fitted } from '../../../../src/inference/comfyui/workflow/server-lacks.js'
import { workflowDocument } from '../../../../src/inference/comfyui/workflow/workflow-definition.js'
import { bound, type GivenGraph, node, sampler, textToImage } from './given-graphs.js'

const growing = (min: number) => [
  'COMFY_AUTOGROW_V3',
  { template: { input: { required: { it: ['STRING', {}] } }, prefix: 'value_', min, max: 9 } },
]
const list = (...options: string[]) => ['COMBO', { multiselect: false, options }]

const GIVEN = {
  ...{ prompt: 'a dog', negativePrompt: '', width: 512, height: 512, steps: 5, cfgScale: 3 },
  sampler: 'euler',
} as const

/** What a server lacks whose classes have these inputs, and all others none. */
const lacks = (graph: GivenGraph, classes: Record<string, object>) =>
  fitted(workflowDocument(bound(graph), 1), (name) =>
    describedClass.parse({ input: { required: classes[name] ?? {} } }),
  )?.lacks

it('a node that holds the choices of its list itself is fitting, an empty folder is not', () => {
  const graph = textToImage({
    '3': sampler({ model: ['40', 0], denoise: ['41', 0] }),
    '40': node('LoraLoaderModelOnly', { lora_name: 'ink.safetensors', strength_model: 1, model: ['4', 0] }),
    '41': node('CustomCombo', { choice: 'Default', index: 1, option1: 'Quality', option2: 'Default' }),
  })
  const classes = {
    CustomCombo: { choice: list() },
    LoraLoaderModelOnly: { lora_name: list() },
  }
  expect(lacks(graph, classes)).toEqual([
    expect.stringMatching(/^It has no "ink.safetensors" for lora_name of "LoraLoaderModelOnly".* it has nothing\.$/),
  ])
})

it('an input that depends on a choice stands for the inputs of that choice', () => {
  const graph = textToImage({
    '9': node('SaveImage', { images: ['30', 0] }),
    '30': node('Resize', { input: ['8', 0], 'values.a': 1, resize_type: 'by', 'resize_type.multiplier': 2 }),
  })
  const required = { input: ['IMAGE'], values: growing(1), resize_type: ['COMFY_DYNAMICCOMBO_V3', {}] }
  expect(lacks(graph, { Resize: required })).toEqual([])
  expect(lacks(graph, { Resize: { ...required, method: ['STRING'] } })).toEqual([
    expect.stringContaining('needs method, which the workflow does not have'),
  ])
})

it('an input that may grow from none is not lacking, one that needs some is', () => {
  const graph = textToImage({
    '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
    '40': node('StringFormat', { f_string: 'a cat' }),
  })
  expect(lacks(graph, { StringFormat: { f_string: ['STRING'], values: growing(0) } })).toEqual([])
  expect(lacks(graph, { StringFormat: { f_string: ['STRING'], values: growing(1) } })).toEqual([
    expect.stringContaining('needs values, which the workflow does not have'),
  ])
})

it('what a choice depends on is compared, too', () => {
  const sized = (inputs: Record<string, unknown>) =>
    textToImage({
      '9': node('SaveImage', { images: ['30', 0] }),
      '30': node('ResizeImageMaskNode', { input: ['8', 0], ...inputs }),
    })
  const options = [
    { key: 'scale by multiplier', inputs: { required: { multiplier: ['FLOAT', {}] } } },
    { key: 'match size', inputs: { required: { crop: list('disabled', 'center') } } },
  ]
  const classes = { ResizeImageMaskNode: { resize_type: ['COMFY_DYNAMICCOMBO_V3', { options }] } }
  const whole = { resize_type: 'scale by multiplier', 'resize_type.multiplier': 2 }
  expect(lacks(sized(whole), classes)).toEqual([])
  for (const [inputs, said] of [
    [{ resize_type: 'scale by multiplier' }, 'needs resize_type.multiplier'],
    [{ ...whole, resize_type: 'by magic' }, 'has no "by magic" for resize_type'],
    [{ resize_type: 'match size', 'resize_type.crop': 'left' }, 'has no "left" for resize_type.crop'],
  ] as const)
    expect(lacks(sized(inputs), classes)).toEqual([expect.stringContaining(said)])
})

const powerLora = (name: string, inputs: Record<string, unknown>) =>
  textToImage({ '3': sampler({ model: ['40', 0] }), '40': node(name, { model: ['4', 0], ...inputs }) })

it.each<[string, string, Record<string, unknown>]>([
  ['an object', 'Power Lora Loader (rgthree)', { lora_1: { on: true, lora: 'gone.safetensors', strength: 1 } }],
  ['a list of objects', 'Lora Loader (LoraManager)', { loras: [{ name: 'gone.safetensors', active: true }] }],
  ['an object within another', 'Stack', { loras: { __value__: [{ file: 'gone.safetensors' }] } }],
  ['an object beside a picture', 'LoraLoader|pysssss', { lora_name: { content: 'gone.safetensors', image: null } }],
])('a file that is named in %s is compared with what the server lists', (_, name, inputs) => {
  const listed = (...files: string[]) => ({ LoraLoader: { lora_name: list(...files) } })
  expect(lacks(powerLora(name, inputs), listed('ink.safetensors'))).toEqual([
    expect.stringContaining('It has no "gone.safetensors"'),
  ])
  expect(lacks(powerLora(name, inputs), listed('ink.safetensors', 'old\\gone.safetensors'))).toEqual([])
})

it('a file that is named in an object gets the server\u2019s own spelling, and what is turned off is not needed', () => {
  const lora = (on: boolean, file: string) => ({ on, lora: file, strength: 1 })
  const graph = powerLora('Power Lora Loader (rgthree)', {
    lora_1: lora(true, 'old/ink.safetensors'),
    lora_2: lora(false, 'gone.safetensors'),
  })
  const loras = { LoraLoader: { lora_name: list('old\\ink.safetensors') } }
  const fit = fitted(workflowDocument(bound(graph), 1), (name) =>
    describedClass.parse({ input: { required: (loras as Record<string, object>)[name] ?? {} } }),
  )
  expect(fit?.lacks).toEqual([])
  expect(fit?.workflow.graph['40']?.inputs.lora_1).toEqual(lora(true, 'old\\ink.safetensors'))
})

it('a LoRA that is named without the ending of its file is compared, too', () => {
  const listed = { LoraLoader: { lora_name: list('styles/ink.safetensors', 'oil.safetensors') } }
  const loras = (...names: string[]) =>
    powerLora('Lora Loader (LoraManager)', { loras: names.map((name) => ({ name, strength: 1, active: true })) })
  expect(lacks(loras('ink', 'oil', 'styles\\ink', 'None'), listed)).toEqual([])
  expect(lacks(loras('ink', 'gone'), listed)).toEqual([
    expect.stringMatching(/^It has no "gone" for loras of .*: put that file where the server looks for it/),
  ])
  const off = powerLora('Stack', { lora_1: { on: false, lora: 'gone' }, style: { name: 'gone' } })
  expect(lacks(off, listed)).toEqual([])
})

describe('a file of a plain list', () => {
  const loader = (file: string) => textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: file }) })
  const given = (file: string, ...files: string[]) =>
    fitted(workflowDocument(bound(loader(file)), 1), (name) =>
      describedClass.parse({
        input: { required: name === 'CheckpointLoaderSimple' ? { ckpt_name: list(...files) } : {} },
      }),
    )

  it('is found in the one folder that has it', () => {
    const fit = given('dev.safetensors', 'SDXL/base.safetensors', 'Flux\\dev.safetensors')
    expect(fit?.lacks).toEqual([])
    expect(fit?.workflow.graph['4']?.inputs.ckpt_name).toBe('Flux\\dev.safetensors')
  })

  it.each([
    ['that two folders have', 'dev.safetensors', ['a/dev.safetensors', 'b/dev.safetensors']],
    ['that the workflow has in another folder', 'Flux/dev.safetensors', ['dev.safetensors', 'b/dev.safetensors']],
    ['that has another ending', 'dev.safetensors', ['Dev-Q8.gguf', 'flux/dev.sft']],
  ])('%s is not guessed, but those that it may be are named first', (_, file, files) => {
    const others = Array.from({ length: 20 }, (_, n) => `${n}.safetensors`)
    const said = given(file, ...others, ...files)?.lacks
    expect(said).toEqual([expect.stringContaining(`; it has ${files.join(', ')}, 0.safetensors`)])
  })
})

it('an input that came with a newer version of a node gets what the editor writes there at first', () => {
  const graph = textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: 'pony.safetensors' }) })
  const required = {
    ckpt_name: list('pony.safetensors'),
    ...{ steps: ['INT', { default: 1, min: 1, max: 256 }], fast: ['BOOLEAN', { default: false }], dtype: list('auto') },
  }
  const fitFor = (more: object) =>
    fitted(workflowDocument(bound(graph), 1), (name) =>
      describedClass.parse({ input: { required: name === 'CheckpointLoaderSimple' ? { ...required, ...more } : {} } }),
    )
  expect(fitFor({})?.lacks).toEqual([])
  expect(fitFor({})?.workflow.graph['4']?.inputs).toEqual({
    ...{ ckpt_name: 'pony.safetensors', steps: 1, fast: false, dtype: 'auto' },
  })
  for (const [input, spec] of [
    ['vae', ['VAE', {}]],
    ['text', ['STRING', {}]],
    ['vae_name', list('a.safetensors')],
  ] as const)
    expect(fitFor({ [input]: spec })?.lacks).toEqual([
      expect.stringContaining(`needs ${input}, which the workflow does not have`),
    ])
})

it('what is chosen of a list is compared where the editor has wrapped it', () => {
  const graph = powerLora('Stack', { several: { __value__: ['old/ink.safetensors'] } })
  const fit = fitted(workflowDocument(bound(graph), 1), (name) =>
    describedClass.parse({ input: { required: name === 'Stack' ? { several: list('old\\ink.safetensors') } : {} } }),
  )
  expect(fit?.lacks).toEqual([])
  expect(fit?.workflow.graph['40']?.inputs.several).toEqual({ __value__: ['old\\ink.safetensors'] })
  expect(lacks(graph, { Stack: { several: list('oil.safetensors') } })).toEqual([
    expect.stringContaining('It has no "old/ink.safetensors" for several'),
  ])
})

it('every file that is chosen of one list is compared', () => {
  const graph = powerLora('Stack', { several: ['ink.safetensors', 'gone.safetensors'] })
  expect(lacks(graph, { Stack: { several: list('ink.safetensors') } })).toEqual([
    expect.stringContaining('It has no "gone.safetensors" for several'),
  ])
})

it.each<[string, { min: number; max: number }, number[]]>([
  ['of 31 bits', { min: 0, max: 2147483647 }, [7, 2147483647, 0, 2147483647]],
  ['up to 2048 only', { min: 0, max: 2048 }, [7, 511, 512, 1023]],
  ['from 1 on', { min: 1, max: 10 }, [7, 8, 9, 6]],
  ['below zero, too', { min: -1125899906842624, max: 1125899906842624 }, [7, 2147483647, 2147483648, 4294967295]],
])('a node that takes seeds %s gets no other, and the sampler gets the whole', (_, range, expected) => {
  const graph = textToImage({
    '3': sampler(),
    '6': node('CLIPTextEncode', { text: ['40', 0], clip: ['4', 1] }),
    '40': node('Wildcards', { text: 'a cat', seed: 1 }, 'seed'),
  })
  const classes: Record<string, object> = {
    Wildcards: { text: ['STRING'], seed: ['INT', { default: 0, ...range }] },
    KSampler: { seed: ['INT', { default: 0, min: 0, max: 18446744073709552000 }] },
  }
  const fit = fitted(workflowDocument(bound(graph), 1), (name) =>
    describedClass.parse({ input: { required: classes[name] ?? {} } }),
  )
  const seeds = [7, 2147483647, 2147483648, 4294967295]
  const { nodes, images } = fillWorkflow(fit?.workflow as never, GIVEN, undefined, seeds, 'attempt')
  const inputsOf = (name: string) => Object.values(nodes).flatMap((it) => (it.class_type === name ? [it.inputs] : []))
  expect(inputsOf('Wildcards').map(({ seed }) => seed)).toEqual(expected)
  expect(inputsOf('KSampler').map(({ seed }) => seed)).toEqual(seeds)
  expect(images.map(({ seed }) => seed)).toEqual(seeds)
})
