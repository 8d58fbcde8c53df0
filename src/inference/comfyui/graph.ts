import type { InferenceRequest } from '../../core/generations/run/backend.js'
import type { ServerSampler } from '../samplers.js'
import type { Asked } from '../server-backend.js'
import type { ServerHttp } from '../server-http.js'
import type { ComfyuiServer, ServerModel } from './discovery.js'
import { fillWorkflow, type Graph, type Workflow } from './workflow/fill-workflow.js'
import type { Slot, Wire } from './workflow/workflow-graph.js'

/** One prompt of ours, for all seeds; `http` is its server. */
export interface ComfyuiAsked extends Asked<ComfyuiServer, ServerModel> {
  readonly http: ServerHttp
  readonly graph: Graph
}

export const graphOf = (request: InferenceRequest, model: ServerModel, sampler: ServerSampler): Graph =>
  fillWorkflow(
    'workflow' in model ? model.workflow : checkpointWorkflow(model.checkpoint),
    request,
    sampler,
    request.seeds,
    request.attemptId,
  )

const [SAMPLER, CHECKPOINT, LATENT, POSITIVE, NEGATIVE, DECODE] = ['3', '4', '5', '6', '7', '8'] as const
/** The output of a node. */
const of = (node: string, output = 0): Wire => [node, output]

/** Draws with a checkpoint alone. The values of the inputs that are bound do not matter. */
const checkpointWorkflow = (checkpoint: string): Workflow => ({
  graph: {
    [CHECKPOINT]: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: checkpoint } },
    [LATENT]: { class_type: 'EmptyLatentImage', inputs: { width: 0, height: 0, batch_size: 1 } },
    [POSITIVE]: { class_type: 'CLIPTextEncode', inputs: { text: '', clip: of(CHECKPOINT, 1) } },
    [NEGATIVE]: { class_type: 'CLIPTextEncode', inputs: { text: '', clip: of(CHECKPOINT, 1) } },
    [SAMPLER]: {
      class_type: 'KSampler',
      inputs: {
        ...{ seed: 0, steps: 0, cfg: 0, sampler_name: '', scheduler: '', denoise: 1 },
        ...{ model: of(CHECKPOINT), positive: of(POSITIVE), negative: of(NEGATIVE), latent_image: of(LATENT) },
      },
    },
    [DECODE]: { class_type: 'VAEDecode', inputs: { samples: of(SAMPLER), vae: of(CHECKPOINT, 2) } },
  },
  binding: CHECKPOINT_BINDING,
  defaults: { width: 0, height: 0 },
})

const ofSampler = (input: string): Slot[] => [[SAMPLER, input]]

const CHECKPOINT_BINDING: Workflow['binding'] = {
  ...{ prompt: [[POSITIVE, 'text']], negative: [[NEGATIVE, 'text']] },
  ...{ width: [[LATENT, 'width']], height: [[LATENT, 'height']], batch: [] },
  ...{ seed: ofSampler('seed'), steps: ofSampler('steps'), cfg: ofSampler('cfg') },
  ...{ sampler: ofSampler('sampler_name'), scheduler: ofSampler('scheduler') },
  ...{ stepBounds: [], scaledWidth: [], scaledHeight: [] },
  ...{ output: of(DECODE), samplers: [SAMPLER], keep: [SAMPLER, CHECKPOINT, LATENT, POSITIVE, NEGATIVE, DECODE] },
}
