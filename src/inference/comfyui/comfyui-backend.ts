import { MAX_SEED } from '../../generation/generation.js'
import type { InferenceBackend } from '../../generation/run/backend.js'
import { serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { discover } from './discovery.js'
import { graphOf } from './graph.js'
import { infer } from './inference.js'
import type { Patience } from './patience.js'

export interface ComfyuiOptions {
  /** The limit of one `generate` without its wait behind other requests, and of that wait. */
  readonly timeoutMs: number
  /** Between two polls of whether a prompt has ended. */
  readonly pollIntervalMs?: number
  /** How long a canceled or timed-out inference may take to stop. */
  readonly cancelGraceMs?: number
  readonly patience?: Patience
}

const PATIENCE: Patience = { answerMs: 10_000, awayMs: 5_000, silentMs: 60_000 }

/** `url`: `comfyui+http(s)://[user:password@]host[:port][/path]`. Other clients may use the server, no other worker. */
export function createComfyuiBackend(url: string, options: ComfyuiOptions): InferenceBackend {
  const { timeoutMs, pollIntervalMs = 1_000, cancelGraceMs = 5_000, patience = PATIENCE } = options
  const http = createServerHttp(parseServerUrl(url), { keepAlive: true })
  return serverBackend({
    ...{ http, timeoutMs, remembers: true },
    discover: (signal) => discover(http, signal),
    offers: ({ checkpoints }) => ({
      models: [...checkpoints.keys()],
      maxSeed: MAX_SEED, // the server keeps larger ones, too; ours end here
      sizeMultiple: 8, // the width of a latent pixel
    }),
    modelOf: ({ checkpoints }, filename) => checkpoints.get(filename),
    runsOf: (seeds) => [seeds],
    infer: ({ request, server, model, sampler }, call) => {
      const asked = { request, version: server.version, graph: graphOf(request, model, sampler) }
      return infer(http, asked, { ...call, pollIntervalMs, cancelGraceMs, patience })
    },
  })
}
