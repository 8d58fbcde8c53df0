import type { InferenceRequest } from '../../generation/run/backend.js'
import { samplerUnavailable } from '../backend-failure.js'
import type { ServerSampler } from '../sd-samplers.js'
import type { A1111Server, ServerModel } from './discovery.js'

/** One txt2img call: what it asks for, against which its answer is held. */
export interface Asked {
  readonly request: InferenceRequest
  readonly server: A1111Server
  readonly model: ServerModel
  readonly sampler: ServerSampler
  /** Consecutive. */
  readonly seeds: readonly number[]
}

/**
 * The sampler under the server's own name.
 * @throws BackendError `unsupported`
 */
export function requireSampler(server: A1111Server, request: InferenceRequest): ServerSampler {
  const mapped = server.samplers.get(request.sampler)
  if (!mapped) throw samplerUnavailable(server.name, request.sampler)
  return mapped
}

/** The body of POST /sdapi/v1/txt2img. */
export function txt2imgBody({ request, server: { dialect }, model, sampler, seeds }: Asked): object {
  return {
    prompt: request.prompt,
    negative_prompt: request.negativePrompt,
    width: request.width,
    height: request.height,
    steps: request.steps,
    cfg_scale: request.cfgScale,
    seed: seeds[0],
    batch_size: seeds.length,
    n_iter: 1,
    sampler_name: sampler.name,
    ...(dialect !== 'sdnext' && sampler.schedule && { scheduler: sampler.schedule }),
    override_settings: {
      sd_model_checkpoint: model.title,
      ...(dialect === 'sdnext' && { schedulers_sigma: sampler.schedule }),
    },
    // Restoring would load the previous model again after every job.
    override_settings_restore_afterwards: false,
    send_images: true,
    save_images: false,
    do_not_save_grid: true,
    force_task_id: request.attemptId,
  }
}
