import type { Logger } from 'pino'
import {
  BackendError,
  type InferenceBackend,
  type InferenceRequest,
  type InferredImage,
} from '../../generation/backend.js'
import { failure } from '../failure.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { timeLimit } from '../time-limit.js'
import { type A1111Server, discover, type ServerModel } from './discovery.js'
import { infer } from './inference.js'
import { consecutiveRuns, requireSampler } from './request.js'

export interface A1111Options {
  /** One `generate`, from its first request to its last byte. */
  readonly timeoutMs: number
  readonly logger?: Pick<Logger, 'info'> | undefined
  /** Between two looks at the progress. */
  readonly progressIntervalMs?: number
  /** How long a canceled or timed-out inference may take to stop. */
  readonly cancelGraceMs?: number
}

const PROBE_TIMEOUT_MS = 10_000

/**
 * One server with AUTOMATIC1111's API: A1111, Forge, SD.Next or stable-diffusion.cpp's sd-server. `url` is
 * `a1111+http(s)://[user:password@]host[:port][/path]`. The server must be this backend's alone: its progress and
 * its interrupt know no jobs, only "the one that runs".
 */
export function createA1111Backend(url: string, options: A1111Options): InferenceBackend {
  const { timeoutMs, logger, progressIntervalMs = 500, cancelGraceMs = 5_000 } = options
  const http = createServerHttp(parseServerUrl(url))
  let known: A1111Server | undefined

  /** @throws BackendError `unavailable` or `auth`; the signal's reason when it aborted */
  async function ask(signal: AbortSignal): Promise<A1111Server> {
    const limit = timeLimit(signal, Math.min(timeoutMs, PROBE_TIMEOUT_MS))
    try {
      const server = await discover(http, limit.signal)
      if (server.dialect !== known?.dialect)
        logger?.info({ backend: http.name, dialect: server.dialect }, 'inference server recognised')
      known = server
      return server
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof BackendError && error.kind === 'auth') throw error
      const message = error instanceof BackendError ? error.message : `${http.name} did not answer in time`
      throw failure('unavailable', message, error)
    } finally {
      limit.clear()
    }
  }

  async function find(filename: string, signal: AbortSignal): Promise<{ server: A1111Server; model: ServerModel }> {
    const listedBy = ({ models }: A1111Server) => models.find((model) => model.filename === filename)
    let server = known
    if (!server || !listedBy(server)) server = await ask(signal)
    const model = listedBy(server)
    if (!model) throw failure('model_missing', `${http.name} does not list "${filename}"`)
    return { server, model }
  }

  async function draw(request: InferenceRequest, stop: AbortSignal, report: (done: number) => void) {
    const { server, model } = await find(request.model, stop)
    const sampler = requireSampler(server, request)
    const images: InferredImage[] = []
    for (const seeds of consecutiveRuns(request.seeds)) {
      const done = images.length
      const reportRun = (fraction: number) => report((done + fraction * seeds.length) / request.seeds.length)
      const watch = { stop, report: reportRun, progressIntervalMs, cancelGraceMs }
      images.push(...(await infer(http, { request, server, model, sampler, seeds }, watch)))
      reportRun(1)
    }
    return images
  }

  return {
    name: http.name,

    async capabilities(signal) {
      try {
        const { models, samplers, maxSeed, sizeMultiple } = await ask(signal)
        const files = new Set(models.map(({ filename }) => filename))
        return { models: [...files], samplers: [...samplers.keys()], maxSeed, sizeMultiple }
      } catch (error) {
        throw signal.aborted ? failure('canceled', `${http.name}: canceled by us`) : error
      }
    },

    async generate(request, { signal, onProgress }) {
      const limit = timeLimit(signal, timeoutMs)
      try {
        return await draw(request, limit.signal, rising(onProgress))
      } catch (error) {
        if (signal.aborted) throw failure('canceled', `${http.name}: canceled by us`)
        known = undefined // whatever failed, the server may be another one by now
        if (limit.isOver()) throw failure('timeout', `${http.name} took longer than ${timeoutMs} ms`)
        throw error instanceof BackendError ? error : failure('backend_fault', `${http.name}: ${error}`, error)
      } finally {
        limit.clear()
      }
    },

    close: () => http.close(),
  }
}

/** Never falls and never throws: progress is a courtesy. */
function rising(report: ((progress: number) => void) | undefined): (progress: number) => void {
  let highest = 0
  return (progress) => {
    if (progress <= highest) return
    highest = progress
    try {
      report?.(progress)
    } catch {
      // the listener's trouble, not the generation's
    }
  }
}
