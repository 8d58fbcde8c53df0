import type { InferenceRequest } from '../../generation/backend.js'
import { samplerUnavailable, unsupported } from '../failure.js'
import type { ServerSampler } from './a1111-samplers.js'
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
 * The sampler under the server's own name. Refuses what the server would silently change: a sampler it lacks, a seed
 * it can't keep, a size it rounds up.
 * @throws BackendError `unsupported`
 */
export function requireSampler(
  server: A1111Server,
  { sampler, seeds, width, height }: InferenceRequest,
): ServerSampler {
  const { name, dialect, maxSeed } = server
  const mapped = server.samplers.get(sampler)
  if (!mapped) throw samplerUnavailable(name, sampler)
  if (seeds.some((seed) => seed > maxSeed))
    throw unsupported(
      `${name} keeps no seed above ${maxSeed}`,
      `Seeds above ${maxSeed} are not available on the GPU servers.`,
    )
  if (dialect === 'sdcpp' && (width % 64 !== 0 || height % 64 !== 0))
    throw unsupported(
      `${name} rounds ${width}x${height} up to multiples of 64`,
      'Only sizes in multiples of 64 are available on the GPU servers.',
    )
  return mapped
}

/** Servers give image n the seed + n and never wrap: a batch that passes 2^32 - 1 becomes two calls. */
export function consecutiveRuns(seeds: readonly number[]): number[][] {
  const runs: number[][] = []
  for (const seed of seeds) {
    const run = runs.at(-1)
    if (run && seed === (run.at(-1) as number) + 1) run.push(seed)
    else runs.push([seed])
  }
  return runs
}

/** The body of POST /sdapi/v1/txt2img. */
export function txt2imgBody({ request, server: { dialect }, model, sampler, seeds }: Asked): object {
  return {
    prompt: withoutExtraArgs(request.prompt),
    negative_prompt: withoutExtraArgs(request.negativePrompt),
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

/**
 * stable-diffusion.cpp obeys JSON in this tag of a prompt, which would let a user change size, count and seed.
 * Repeated, because what is left may form the tag anew.
 */
function withoutExtraArgs(prompt: string): string {
  const withoutElements = prompt.replace(/<sd_cpp_extra_args>.*?<\/sd_cpp_extra_args>/gs, '')
  if (withoutElements !== prompt) return withoutExtraArgs(withoutElements)
  const withoutTags = prompt.replace(/<\/?sd_cpp_extra_args>/g, '')
  return withoutTags === prompt ? prompt : withoutExtraArgs(withoutTags)
}
