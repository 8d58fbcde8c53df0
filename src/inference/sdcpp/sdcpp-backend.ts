import type { InferenceBackend, InferredImage } from '../../generation/backend.js'
import { consecutiveRuns } from '../consecutive-runs.js'
import { callFailure } from '../failure.js'
import { probe } from '../probe.js'
import { risingProgress } from '../rising-progress.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { discover } from './discovery.js'
import { runJob } from './job.js'
import { requireServed } from './request.js'
import { readResult } from './result.js'

export interface SdCppOptions {
  /** One job, from when the server begins to draw it. */
  readonly timeoutMs: number
  /** How long a job may wait in the server's queue before. */
  readonly queueMs?: number
  /** How long an answer may take to begin. */
  readonly answerMs?: number
  readonly pollIntervalMs?: number
  /** How long canceling a job may take. */
  readonly cancelGraceMs?: number
}

/**
 * stable-diffusion.cpp's sd-server through its own API of jobs; `url` is
 * `sdcpp+http(s)://[user:password@]host[:port][/path]`. It keeps every seed, and no prompt can reach its parameters. It
 * tells no progress within a job, and draws a canceled job to its end: the next one waits in its queue meanwhile.
 */
export function createSdCppBackend(url: string, options: SdCppOptions): InferenceBackend {
  const { timeoutMs, queueMs = timeoutMs, answerMs = 10_000, pollIntervalMs = 100, cancelGraceMs = 800 } = options
  const http = createServerHttp(parseServerUrl(url))
  const times = { queueMs, drawMs: timeoutMs, answerMs, pollIntervalMs, cancelGraceMs }
  const ask = (signal: AbortSignal) => probe({ name: http.name, signal, timeoutMs }, (stop) => discover(http, stop))

  return {
    name: http.name,

    async capabilities(signal) {
      try {
        const { model, samplers, maxSeed, sizeMultiple } = await ask(signal)
        return { models: [model], samplers: [...samplers.keys()], maxSeed, sizeMultiple }
      } catch (error) {
        throw callFailure(http.name, signal, error)
      }
    },

    async generate(request, { signal, onProgress, onDrawn }) {
      const report = risingProgress(onProgress)
      const drawn = once(onDrawn)
      try {
        // Asked each time: another process with another checkpoint may have taken the port.
        const server = await ask(signal)
        const sampler = requireServed(server, request)
        const images: InferredImage[] = []
        for (const seeds of consecutiveRuns(request.seeds)) {
          const asked = { request, server, sampler, seeds }
          const isLast = images.length + seeds.length === request.seeds.length
          const result = await runJob(http, asked, times, signal, isLast ? drawn : () => undefined)
          images.push(...(await readResult(result, asked)))
          report(images.length / request.seeds.length)
        }
        return images
      } catch (error) {
        throw callFailure(http.name, signal, error)
      }
    },

    close: () => http.close(),
  }
}

function once(tell: (() => void) | undefined): () => void {
  let told = false
  return () => {
    if (!told) tell?.()
    told = true
  }
}
