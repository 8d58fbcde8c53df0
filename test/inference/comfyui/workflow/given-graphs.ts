import { readFileSync } from 'node:fs'
import { type BindOptions, bindWorkflow } from '../../../../src/inference/comfyui/workflow/bind-workflow.js'
import { onlyDraws } from '../../../../src/inference/comfyui/workflow/node-lists.js'
import { readWorkflow } from '../../../../src/inference/comfyui/workflow/read-workflow.js'
import { WorkflowProblem } from '../../../../src/inference/comfyui/workflow/workflow-graph.js'

export interface GivenNode {
  class_type: string
  inputs: Record<string, unknown>
  _meta?: { title?: string }
}
export type GivenGraph = Record<string, GivenNode>

export const node = (class_type: string, inputs: Record<string, unknown>, title?: string): GivenNode => ({
  class_type,
  inputs,
  ...(title === undefined ? {} : { _meta: { title } }),
})

/** A file of `graphs/`, which ran on a real server, by the beginning of its name. */
export const graphFile = (name: string): string =>
  readFileSync(new URL(`./graphs/${name}.json`, import.meta.url), 'utf8')

/** One checkpoint, two texts, a sampler, a decoder, an output; `changes` are more nodes, or others for the same ids. */
export const textToImage = (changes: GivenGraph = {}): GivenGraph => ({
  '3': sampler(),
  '4': node('CheckpointLoaderSimple', { ckpt_name: 'pony.safetensors' }),
  '5': node('EmptyLatentImage', { width: 512, height: 768, batch_size: 4 }),
  '6': node('CLIPTextEncode', { text: 'a cat', clip: ['4', 1] }),
  '7': node('CLIPTextEncode', { text: 'blurred', clip: ['4', 1] }),
  '8': node('VAEDecode', { samples: ['3', 0], vae: ['4', 2] }),
  '9': node('SaveImage', { filename_prefix: 'ComfyUI', images: ['8', 0] }),
  ...changes,
})

export const sampler = (inputs: Record<string, unknown> = {}, title?: string): GivenNode =>
  node(
    'KSampler',
    {
      ...{ seed: 1, steps: 20, cfg: 7, sampler_name: 'euler', scheduler: 'normal', denoise: 1 },
      ...{ model: ['4', 0], positive: ['6', 0], negative: ['7', 0], latent_image: ['5', 0] },
      ...inputs,
    },
    title,
  )

/** Draws with a LoRA, in few steps without guidance, and enlarges what it has drawn to twice its size. */
export const withLora = (lora: string, checkpoint: string, strength = 1): GivenGraph =>
  textToImage({
    '3': sampler({ model: ['10', 0], cfg: 1, steps: 8, sampler_name: 'euler', scheduler: 'normal' }),
    '4': node('CheckpointLoaderSimple', { ckpt_name: checkpoint }),
    '10': node('LoraLoader', {
      ...{ model: ['4', 0], clip: ['4', 1], lora_name: lora },
      ...{ strength_model: strength, strength_clip: strength },
    }),
    '20': node('ImageScaleBy', { image: ['8', 0], upscale_method: 'lanczos', scale_by: 2 }),
    '9': node('SaveImage', { filename_prefix: 'ComfyUI', images: ['20', 0] }),
  })

/** The same with SamplerCustomAdvanced, its noise, guider, sampler and sigmas. */
export const customAdvanced = (changes: GivenGraph = {}): GivenGraph =>
  textToImage({
    '3': node('SamplerCustomAdvanced', {
      ...{ noise: ['20', 0], guider: ['21', 0], sampler: ['22', 0], sigmas: ['23', 0], latent_image: ['5', 0] },
    }),
    '20': node('RandomNoise', { noise_seed: 1 }),
    '21': node('CFGGuider', { cfg: 4, model: ['4', 0], positive: ['6', 0], negative: ['7', 0] }),
    '22': node('KSamplerSelect', { sampler_name: 'dpmpp_2m' }),
    '23': node('BasicScheduler', { scheduler: 'karras', steps: 8, denoise: 1, model: ['4', 0] }),
    ...changes,
  })

/** How a graph is read; classes that Easel does not know are allowed unless `options` says which are. */
export const bound = (graph: unknown, options?: BindOptions) => {
  const file = readWorkflow(JSON.stringify(graph))
  const unknown = Object.values(file).flatMap(({ class_type }) => (onlyDraws(class_type) ? [] : [class_type]))
  return bindWorkflow(file, { allowNodes: unknown, ...options })
}

/** The sentence by which a text, or a graph, is refused; anything else that is thrown fails the test. */
export function refusal(source: unknown, options?: BindOptions): string {
  try {
    bindWorkflow(readWorkflow(typeof source === 'string' ? source : JSON.stringify(source)), options)
  } catch (error) {
    if (error instanceof WorkflowProblem) return error.message
    throw error
  }
  throw new Error('the workflow was bound')
}
