import { expect, it } from 'vitest'
import { describedClass } from '../../../../src/inference/comfyui/node-classes.js'
import { fitted } from '../../../../src/inference/comfyui/workflow/server-lacks.js'
import { workflowDocument } from '../../../../src/inference/comfyui/workflow/workflow-definition.js'
import { bound, type GivenGraph, node, sampler, textToImage } from './given-graphs.js'

const list = (...options: string[]) => ['COMBO', { multiselect: false, options }]

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
  const required = { input: ['IMAGE'], values: ['COMFY_AUTOGROW_V3', {}], resize_type: ['COMFY_DYNAMICCOMBO_V3', {}] }
  expect(lacks(graph, { Resize: required })).toEqual([])
  expect(lacks(graph, { Resize: { ...required, method: ['STRING'] } })).toEqual([
    expect.stringContaining('needs method, which the workflow does not have'),
  ])
})
