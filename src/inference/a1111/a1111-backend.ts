import type { Logger } from 'pino'
import { MAX_SEED, SIZE_STEP } from '../../generation/generation.js'
import type { InferenceBackend, InferenceRequest, InferredImage } from '../../generation/run/backend.js'
import { callFailure, failure } from '../backend-failure.js'
import { consecutiveRuns } from '../kept-parameters.js'
import { limited, probe, risingProgress, type Waiting } from '../limited.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { type A1111Server, discover, type ServerModel } from './discovery.js'
import { infer } from './inference.js'
import { requireSampler } from './request.js'

export interface A1111Options {
  /** One `generate`, from its first request to its last byte, but for the wait behind others; that may take as long. */
  readonly timeoutMs: number
  readonly logger?: Pick<Logger, 'info'> | undefined
  /** Between two looks at the progress. */
  readonly progressIntervalMs?: number
  /** How long a canceled or timed-out inference may take to stop. */
  readonly cancelGraceMs?: number
}

/**
 * One server with AUTOMATIC1111's API: A1111, Forge or SD.Next. `url` is
 * `a1111+http(s)://[user:password@]host[:port][/path]`. The server must be this backend's alone: its progress and
 * its interrupt know no jobs, only "the one that runs".
 */
export function createA1111Backend(url: string, options: A1111Options): InferenceBackend {
  const { timeoutMs, logger, progressIntervalMs = 500, cancelGraceMs = 5_000 } = options
  const http = createServerHttp(parseServerUrl(url))
  let known: A1111Server | undefined

  /** @throws BackendError `unavailable`, `auth` or `unusable`; the signal's reason when it aborted */
  async function ask(signal: AbortSignal): Promise<A1111Server> {
    const server = await probe({ http, signal, timeoutMs }, (stop) => discover(http, stop))
    if (server.dialect !== known?.dialect)
      logger?.info({ backend: http.name, dialect: server.dialect }, 'inference server recognised')
    known = server
    return server
  }

  async function find(filename: string, signal: AbortSignal): Promise<{ server: A1111Server; model: ServerModel }> {
    const listedBy = ({ models }: A1111Server) => models.find((model) => model.filename === filename)
    let server = known
    if (!server || !listedBy(server)) server = await ask(signal)
    const model = listedBy(server)
    if (!model) throw failure('model_missing', `${http.name} does not list "${filename}"`)
    return { server, model }
  }

  async function draw(
    request: InferenceRequest,
    { stop, waiting }: { readonly stop: AbortSignal; readonly waiting: Waiting },
    report: (done: number) => void,
    show: ((preview: Buffer) => void) | undefined,
    onDrawn: () => void,
  ) {
    const { server, model } = await find(request.model, stop)
    const sampler = requireSampler(server, request)
    const images: InferredImage[] = []
    for (const seeds of consecutiveRuns(request.seeds)) {
      const done = images.length
      const reportRun = (fraction: number) => report((done + fraction * seeds.length) / request.seeds.length)
      const isLast = done + seeds.length === request.seeds.length
      const drawn = isLast ? onDrawn : () => undefined
      const watch = { stop, waiting, report: reportRun, show, progressIntervalMs, cancelGraceMs, drawn }
      images.push(...(await infer(http, { request, server, model, sampler, seeds }, watch)))
      reportRun(1)
    }
    return images
  }

  return {
    name: http.name,

    async capabilities(signal) {
      try {
        const { models, ambiguous, samplers } = await ask(signal)
        const files = new Set(models.map(({ filename }) => filename))
        const limits = { maxSeed: MAX_SEED, sizeMultiple: SIZE_STEP }
        return { models: [...files], ambiguous, samplers: [...samplers.keys()], ...limits }
      } catch (error) {
        throw callFailure(http.name, signal, error)
      }
    },

    generate: (request, { signal, onWaiting, onProgress, onPreview, onDrawn = () => undefined }) =>
      limited({ name: http.name, signal, timeoutMs, onWaiting }, async (stop, waiting) => {
        try {
          return await draw(request, { stop, waiting }, risingProgress(onProgress), onPreview, onDrawn)
        } catch (error) {
          if (!signal.aborted) known = undefined // whatever failed, the server may be another one by now
          throw error
        }
      }),

    close: () => http.close(),
  }
}
