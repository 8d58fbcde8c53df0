import type { InferenceRequest } from '../../generation/run/backend.js'
import { failure, samplerUnavailable } from '../backend-failure.js'
import { requireKept } from '../kept-parameters.js'
import type { ServerSampler } from '../sd-samplers.js'
import type { SdCppServer } from './discovery.js'

/** One job: what it asks for, against which its result is held. */
export interface Asked {
  readonly request: InferenceRequest
  readonly server: SdCppServer
  readonly sampler: ServerSampler
  /** Consecutive: the server draws image n with the first seed + n. */
  readonly seeds: readonly number[]
}

/**
 * The method and schedule, under the server's own names, of a request that the server can honour.
 * @throws BackendError `model_missing` or `unsupported`
 */
export function requireServed(server: SdCppServer, request: InferenceRequest): ServerSampler {
  if (server.model !== request.model)
    throw failure('model_missing', `${server.name} has "${server.model}" and not "${request.model}"`)
  const sampler = server.samplers.get(request.sampler)
  if (!sampler) throw samplerUnavailable(server.name, request.sampler)
  requireKept(server, request)
  return sampler
}

/** The body of POST /sdcpp/v1/img_gen. */
export const imgGenBody = ({ request, sampler, seeds }: Asked) => ({
  prompt: request.prompt,
  negative_prompt: request.negativePrompt,
  width: request.width,
  height: request.height,
  seed: seeds[0],
  batch_count: seeds.length,
  sample_params: {
    sample_method: sampler.name,
    scheduler: sampler.schedule,
    sample_steps: request.steps,
    guidance: { txt_cfg: request.cfgScale },
  },
  output_format: 'png',
})
