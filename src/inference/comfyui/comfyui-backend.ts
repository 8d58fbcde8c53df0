import type { InferenceBackend, InferenceRequest } from '../../generation/run/backend.js'
import { callFailure, failure, samplerUnavailable, unsupported } from '../backend-failure.js'
import { limited, probe, risingProgress } from '../limited.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { type ComfyuiServer, discover } from './discovery.js'
import { graphOf } from './graph.js'
import { infer } from './inference.js'
import type { Patience } from './patience.js'
import type { Asked } from './prompt-submission.js'

export interface ComfyuiOptions {
  /** One `generate`, from its first request to its last byte, but for the wait behind others; that may take as long. */
  readonly timeoutMs: number
  /** Between two looks at whether a prompt has ended. */
  readonly pollIntervalMs?: number
  /** How long a canceled or timed-out inference may take to stop. */
  readonly cancelGraceMs?: number
  readonly patience?: Patience
}

const PATIENCE: Patience = { answerMs: 10_000, awayMs: 5_000, silentMs: 60_000 }
/** The server keeps larger ones, too; ours end here. */
const MAX_SEED = 4294967295
/** A latent pixel is this many pixels wide; the server rounds other sizes down. */
const SIZE_MULTIPLE = 8

const ignore = () => undefined

/**
 * One ComfyUI server. `url` is `comfyui+http(s)://[user:password@]host[:port][/path]`. No other worker may use it;
 * people may, and what they run is left alone.
 */
export function createComfyuiBackend(url: string, options: ComfyuiOptions): InferenceBackend {
  const { timeoutMs, pollIntervalMs = 1_000, cancelGraceMs = 5_000, patience = PATIENCE } = options
  const address = parseServerUrl(url)
  const http = createServerHttp(address, { keepAlive: true })
  let known: ComfyuiServer | undefined

  /** @throws BackendError `unavailable`, `auth` or `unusable`; the signal's reason when it aborted */
  async function ask(signal: AbortSignal): Promise<ComfyuiServer> {
    known = await probe({ http, signal, timeoutMs }, (limited) => discover(http, limited))
    return known
  }

  async function asking(request: InferenceRequest, signal: AbortSignal): Promise<Asked> {
    const { model, sampler, width, height } = request
    const server = known?.checkpoints.has(model) ? known : await ask(signal)
    const checkpoint = server.checkpoints.get(model)
    if (checkpoint === undefined) throw failure('model_missing', `${http.name} does not list "${model}"`)
    const mapped = server.samplers.get(sampler)
    if (!mapped) throw samplerUnavailable(http.name, sampler)
    if (width % SIZE_MULTIPLE !== 0 || height % SIZE_MULTIPLE !== 0)
      throw unsupported(
        `${http.name} rounds ${width}x${height} down to multiples of ${SIZE_MULTIPLE}`,
        `Only sizes in multiples of ${SIZE_MULTIPLE} are available on the GPU servers.`,
      )
    return { request, graph: graphOf(request, checkpoint, mapped), version: server.version }
  }

  return {
    name: http.name,

    async capabilities(signal) {
      try {
        const { checkpoints, samplers } = await ask(signal)
        return {
          models: [...checkpoints.keys()],
          samplers: [...samplers.keys()],
          maxSeed: MAX_SEED,
          sizeMultiple: SIZE_MULTIPLE,
        }
      } catch (error) {
        throw callFailure(http.name, signal, error)
      }
    },

    generate: (
      request,
      { signal, onWaiting, onProgress, onPreview = ignore, onDrawn = ignore, hasEnded = async () => false },
    ) =>
      limited({ name: http.name, signal, timeoutMs, onWaiting }, async (stop, waiting) => {
        const report = risingProgress(onProgress)
        const told = { waiting, report, show: onPreview, drawn: onDrawn, hasEnded }
        const watch = { stop, ...told, pollIntervalMs, cancelGraceMs, patience }
        try {
          const images = await infer({ http, address }, await asking(request, stop), watch)
          report(1)
          return images
        } catch (error) {
          if (!signal.aborted) known = undefined // whatever failed, the server may be another one by now
          throw error
        }
      }),

    close: () => http.close(),
  }
}
