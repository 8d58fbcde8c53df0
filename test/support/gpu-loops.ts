/** Backend loops as a worker runs them, over a service's Postgres and queue, with an image store as slow as asked. */
import { setTimeout as delay } from 'node:timers/promises'
import { backendRegistry } from '../../src/db/backend-store.js'
import { generationEnds } from '../../src/db/generation-views.js'
import { runStore } from '../../src/db/run-store.js'
import { backendLoop } from '../../src/generation/run/backend-loop.js'
import { finishImage } from '../../src/images/finish-image.js'
import { createImageStore } from '../../src/images/open-image-store.js'
import { createBackend } from '../../src/inference/create-backend.js'
import { openFoundation } from '../../src/wiring.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { type Service, silentLog } from './service.js'

export interface LoopsOptions {
  readonly inferenceUrls: readonly string[]
  /** What storing an image takes at least. */
  readonly putMs?: number
  readonly affinityMaxDelayMs?: number
}

/** Starts one loop per backend; each works through the queue at once. */
export async function startLoops(service: Service, options: LoopsOptions): Promise<{ close(): Promise<void> }> {
  const { inferenceUrls, putMs = 0, affinityMaxDelayMs = 0 } = options
  const log = silentLog()
  const { config, namespace } = service
  const foundation = await openFoundation(config, log, { maxConnections: 10, namespace })
  const { db, lock, queue, progress, previews } = foundation
  const ends = generationEnds(config.databaseUrl, () => undefined)
  const images = await createImageStore(config)
  const put: typeof images.put = async (slug, png, options) => {
    await delay(putMs)
    return images.put(slug, png, options)
  }
  const ports = {
    ...{
      runs: runStore(db, config),
      backends: backendRegistry(db),
      lock,
      queue,
      progress,
      previews,
      ends,
      finishImage,
      log,
    },
    images: { ...images, put },
  }
  const loops = inferenceUrls.map((url) => {
    const backend = createBackend(url, { timeoutMs: 60_000, logger: log })
    return backendLoop(ports, backend, { worker: `loops of ${namespace}`, affinityMaxDelayMs })
  })
  await Promise.all(loops.map((loop) => loop.start()))
  return {
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
      await ends.close()
      await foundation.close()
    },
  }
}

export interface WatchedRun {
  readonly seed: number
  /** The checkpoint that it asked for. */
  readonly model: string
  /** As Date.now() gives them. */
  readonly from: number
  readonly to: number
}

export interface WatchedGpu extends A1111StandIn {
  /** How many inferences have been answered. */
  readonly answered: () => number
  /** The share of the time from the first inference's begin to the last one's end in which one was at work. */
  readonly busyShare: () => number
  /** The inferences that were answered, in their order. */
  readonly runs: readonly WatchedRun[]
}

/** A stand-in whose inferences are timed from the request's arrival to the answer's end. */
export async function startWatchedGpu(options: Parameters<typeof startA1111StandIn>[0]): Promise<WatchedGpu> {
  const runs: WatchedRun[] = []
  const gpu = await startA1111StandIn({
    ...options,
    onTxt2img: (body, ended) => {
      const from = Date.now()
      const model = (body.override_settings as { sd_model_checkpoint: string }).sd_model_checkpoint
      void ended.then((whole) => whole && runs.push({ seed: Number(body.seed), model, from, to: Date.now() }))
    },
  })
  const span = () => Math.max(...runs.map(({ to }) => to)) - Math.min(...runs.map(({ from }) => from))
  const busy = () => {
    let total = 0
    let until = Number.NEGATIVE_INFINITY
    for (const { from, to } of runs.toSorted((a, b) => a.from - b.from)) {
      total += Math.max(0, to - Math.max(from, until))
      until = Math.max(until, to)
    }
    return total
  }
  return Object.assign(gpu, { answered: () => runs.length, runs, busyShare: () => busy() / span() })
}
