import type { InferenceBackend, InferredImage } from '../../generation/run/backend.js'
import { callFailure } from '../backend-failure.js'
import { consecutiveRuns } from '../kept-parameters.js'
import { limited, probe, risingProgress } from '../limited.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { discover } from './discovery.js'
import { runJob } from './job.js'
import { requireServed } from './request.js'
import { readResult } from './result.js'

export interface SdCppOptions {
  /** One `generate`, but for the wait in the server's queue. */
  readonly timeoutMs: number
  /** How long that wait may be; as long unless given. */
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
  const { timeoutMs, queueMs, answerMs = 10_000, pollIntervalMs = 100, cancelGraceMs = 800 } = options
  const http = createServerHttp(parseServerUrl(url))
  const times = { answerMs, pollIntervalMs, cancelGraceMs }
  const ask = (signal: AbortSignal) => probe({ http, signal, timeoutMs }, (stop) => discover(http, stop))

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

    generate: (request, { signal, onWaiting, onProgress, onDrawn }) =>
      limited({ name: http.name, signal, timeoutMs, queueMs, onWaiting }, async (stop, waiting) => {
        const report = risingProgress(onProgress)
        const drawn = once(onDrawn)
        // Asked each time: another process with another checkpoint may have taken the port.
        const server = await ask(stop)
        const sampler = requireServed(server, request)
        const images: InferredImage[] = []
        for (const seeds of consecutiveRuns(request.seeds)) {
          const asked = { request, server, sampler, seeds }
          const isLast = images.length + seeds.length === request.seeds.length
          const result = await runJob(http, asked, times, { stop, waiting }, isLast ? drawn : () => undefined)
          images.push(...(await readResult(result, asked)))
          report(images.length / request.seeds.length)
        }
        return images
      }),

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
