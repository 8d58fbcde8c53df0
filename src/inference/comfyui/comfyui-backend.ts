import type { InferenceBackend } from '../../generation/run/backend.js'
import { type Limits, serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { discover } from './discovery.js'
import { graphOf } from './graph.js'
import { infer, TIMES } from './inference.js'

export type ComfyuiOptions = Limits & Partial<typeof TIMES>

/** Other clients may use the server, no other worker. */
export function createComfyuiBackend(url: string, options: ComfyuiOptions): InferenceBackend {
  const http = createServerHttp(parseServerUrl(url), { keepAlive: true })
  return serverBackend({
    http,
    limits: options,
    remembers: true,
    discover: (signal) => discover(http, signal),
    offers: ({ checkpoints }) => ({ models: [...checkpoints.keys()] }),
    modelOf: ({ checkpoints }, filename) => checkpoints.get(filename),
    runsOf: (seeds) => [seeds],
    infer: (asked, call) => {
      const graph = graphOf(asked.request, asked.model, asked.sampler)
      return infer({ ...asked, http, graph }, { ...call, ...TIMES, ...options })
    },
  })
}
