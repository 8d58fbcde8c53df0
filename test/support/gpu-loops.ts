/** Backend loops as a worker runs them, over a service's Postgres and queue, with an image store that can be held. */
import { backendLoop } from '../../src/core/generations/run/backend-loop.js'
import type { RunTimes } from '../../src/core/generations/run/times.js'
import { backendRegistry } from '../../src/db/generations/backends.js'
import { generationEnds } from '../../src/db/generations/poll.js'
import { runStore } from '../../src/db/generations/run.js'
import { finishImage } from '../../src/images/finish-image.js'
import { createImageStore } from '../../src/images/open-image-store.js'
import { watchedImageStore } from '../../src/images/watched-image-store.js'
import { createBackend } from '../../src/inference/create-backend.js'
import { openFoundation } from '../../src/process/foundation.js'
import { type Service, silentLog } from './service.js'

export interface LoopsOptions {
  readonly inferenceUrls: readonly string[]
  /** What storing each image waits for. */
  readonly beforePut?: () => Promise<unknown>
  readonly affinityMaxDelayMs?: number
  readonly times?: Partial<RunTimes>
}

/** Starts one loop per backend; each works through the queue at once. */
export async function startLoops(service: Service, options: LoopsOptions): Promise<{ close(): Promise<void> }> {
  const { inferenceUrls, beforePut, affinityMaxDelayMs = 0, times } = options
  const log = silentLog()
  const { config, namespace } = service
  const foundation = await openFoundation(config, log, { maxConnections: 10, namespace })
  const { db, lock, queue, progress, previews } = foundation
  const ends = generationEnds(config.databaseListenUrl, () => undefined)
  // As in a worker: loops that check the store at the same time check it once.
  const images = watchedImageStore(await createImageStore(config), log)
  const put: typeof images.put = async (slug, png, options) => {
    await beforePut?.()
    return images.put(slug, png, options)
  }
  const ports = {
    ...{ runs: runStore(db, config), backends: backendRegistry(db), lock, queue, progress, previews, ends },
    ...{ finishImage, log },
    images: { ...images, put },
  }
  const loops = inferenceUrls.map((url) => {
    const backend = createBackend(url, { timeoutMs: 60_000, logger: log })
    return backendLoop(ports, backend, { worker: `loops of ${namespace}`, affinityMaxDelayMs, times })
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
