import { z } from 'zod'
import { MAX_SEED } from '../../generation/generation.js'
import type { Sampler } from '../../generation/sampler.js'
import { failure } from '../backend-failure.js'
import type { Kept } from '../kept-parameters.js'
import { type ServerSampler, samplersOf } from '../sd-samplers.js'
import type { ServerHttp } from '../server-http.js'
import { jsonReply } from '../server-reply.js'

/** What one sd-server process has: a single checkpoint, for as long as it runs. */
export interface SdCppServer extends Kept {
  /** The checkpoint's file name. */
  readonly model: string
  readonly samplers: ReadonlyMap<Sampler, ServerSampler>
}

const capabilitiesReply = z.object({
  model: z.object({ name: z.string() }),
  /** Not in the first versions, which made nothing but images. */
  current_mode: z.string().optional(),
  samplers: z.array(z.string()),
  schedulers: z.array(z.string()),
})

/**
 * Asks an sd-server what it has. Only what it lists is offered: it takes a job with an unknown method or schedule, and
 * draws it with its default.
 * @throws BackendError
 */
export async function discover(http: ServerHttp, signal: AbortSignal): Promise<SdCppServer> {
  const reply = await http.get('/sdcpp/v1/capabilities', signal)
  const { model, current_mode, samplers, schedulers } = jsonReply(http.name, reply, { shape: capabilitiesReply })
  if (current_mode !== undefined && current_mode !== 'img_gen')
    throw failure('unusable', `${http.name} has no model for images loaded, its mode is "${current_mode}"`)
  return {
    name: http.name,
    model: model.name,
    samplers: samplersOf('sdcpp', { samplers: new Set(samplers), schedules: new Set(schedulers) }),
    maxSeed: MAX_SEED,
    sizeMultiple: 64,
  }
}
