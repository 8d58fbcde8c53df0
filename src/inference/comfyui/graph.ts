import type { InferenceRequest } from '../../core/generations/run/backend.js'
import type { ServerSampler } from '../samplers.js'
import type { Asked } from '../server-backend.js'
import type { ServerHttp } from '../server-http.js'
import type { discover } from './discovery.js'

export type Graph = ReturnType<typeof graphOf>

/** One prompt of ours, for all seeds; `http` is its server. */
export interface ComfyuiAsked extends Asked<Awaited<ReturnType<typeof discover>>> {
  readonly http: ServerHttp
  readonly graph: Graph
}

const [CHECKPOINT, LATENT, POSITIVE, NEGATIVE] = ['4', '5', '6', '7'] as const

/**
 * The prompt that draws all images, each by a sampler node with its own seed, because the server gives a batch one
 * seed. The checkpoint is loaded and the texts are encoded once. The images are saved as temporary files. Their nodes
 * have the attempt's id as an input that they do not know: with the inputs of the last run they would answer with the
 * old file.
 */
export function graphOf(request: InferenceRequest, checkpoint: string, sampler: ServerSampler) {
  const { attemptId, prompt, negativePrompt, width, height, steps, cfgScale, seeds } = request
  // Where in the graph each image is drawn and saved.
  const images = seeds.map((seed, n) => ({ seed, samplerNode: `${10 * n + 3}`, saveNode: `${10 * n + 9}` }))
  // An input is a value, or the output of another node as [id, index].
  const wires = { model: [CHECKPOINT, 0], positive: [POSITIVE, 0], negative: [NEGATIVE, 0], latent_image: [LATENT, 0] }
  const nodes: Record<string, { readonly class_type: string; readonly inputs: object }> = {
    [CHECKPOINT]: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: checkpoint } },
    [LATENT]: { class_type: 'EmptyLatentImage', inputs: { width, height, batch_size: 1 } },
    [POSITIVE]: { class_type: 'CLIPTextEncode', inputs: { text: prompt, clip: [CHECKPOINT, 1] } },
    [NEGATIVE]: { class_type: 'CLIPTextEncode', inputs: { text: negativePrompt, clip: [CHECKPOINT, 1] } },
  }
  for (const [n, { seed, samplerNode, saveNode }] of images.entries()) {
    const decodeNode = `${10 * n + 8}`
    const settings = { seed, steps, cfg: cfgScale, sampler_name: sampler.name, scheduler: sampler.schedule, denoise: 1 }
    nodes[samplerNode] = { class_type: 'KSampler', inputs: { ...settings, ...wires } }
    nodes[decodeNode] = { class_type: 'VAEDecode', inputs: { samples: [samplerNode, 0], vae: [CHECKPOINT, 2] } }
    nodes[saveNode] = { class_type: 'PreviewImage', inputs: { images: [decodeNode, 0], easel_attempt: attemptId } }
  }
  return { nodes, images }
}
