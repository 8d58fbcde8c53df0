import { z } from 'zod'
import type { InferenceBackend } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import { samplersOf } from '../samplers.js'
import { consecutiveRuns, type Limits, serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl, type ServerHttp } from '../server-http.js'
import { jsonReply } from '../server-reply.js'
import { infer, TIMES } from './job.js'

export type SdCppOptions = Limits & Partial<typeof TIMES>

/**
 * stable-diffusion.cpp's sd-server through its own API of jobs. It keeps every seed, and no prompt can reach its
 * parameters. It reports no progress within a job, and draws a canceled job to its end, while the next one waits in its
 * queue.
 */
export function createSdCppBackend(url: string, options: SdCppOptions): InferenceBackend {
  const http = createServerHttp(parseServerUrl(url))
  return serverBackend({
    http,
    limits: options,
    runsOf: consecutiveRuns,
    // Before each generation: another process with another checkpoint may have taken the port.
    discover: (signal) => discover(http, signal),
    offers: ({ model }) => ({ models: [model], sizeMultiple: 64 }),
    modelOf: ({ model }, filename) => (model === filename ? model : undefined),
    infer: (asked, call) => infer(http, asked, call, { ...TIMES, ...options }),
  })
}

const capabilitiesReply = z.object({
  /** A process has a single checkpoint, for as long as it runs; this is its file name. */
  model: z.object({ name: z.string() }),
  /** Not in the first versions, which made nothing but images. */
  current_mode: z.string().optional(),
  samplers: z.array(z.string()),
  schedulers: z.array(z.string()),
})

/** Reads what an sd-server has. It replaces an unknown method or schedule by its default. */
async function discover(http: ServerHttp, signal: AbortSignal) {
  const reply = await http.get('/sdcpp/v1/capabilities', signal)
  const { model, current_mode, samplers, schedulers } = jsonReply(http.name, reply, capabilitiesReply)
  if (current_mode !== undefined && current_mode !== 'img_gen')
    throw failure('unusable', `${http.name} has no model for images loaded, its mode is "${current_mode}"`)
  return { model: model.name, samplers: samplersOf('sdcpp', samplers, schedulers) }
}
