/** Ports of the core that do nothing and say that all is well, for a test that looks at another one. */
import type { Delivery, GenerationQueue } from '../../src/core/generations/ports.js'
import type { WipeMark } from '../../src/core/generations/repair/ports.js'
import type { MadeWith } from '../../src/core/generations/run/backend.js'
import type { GenerationEnds } from '../../src/core/generations/run/lease.js'
import type { FinishImage } from '../../src/core/generations/run/publish.js'
import type { ImageStore } from '../../src/core/images/ports.js'
import type { Log } from '../../src/core/log.js'

const nothing = () => undefined

export const noLog: Log = { info: nothing, warn: nothing, error: nothing }

export const noQueue: GenerationQueue = { enqueue: async () => true, withdraw: async () => undefined }

/** `rung` is what was enqueued while it was reachable. */
export function fakeQueue() {
  const rung: Delivery[] = []
  const queue = {
    ...noQueue,
    rung,
    reachable: true,
    enqueue: async (deliveries: readonly Delivery[]) => {
      if (queue.reachable) rung.push(...deliveries.map(({ id, attempt }) => ({ id, attempt })))
      return queue.reachable
    },
  }
  return queue
}

/** The mark of a Redis that was not wiped, unless `present` is false: then it lacks the mark until that is set. */
export function fakeWipeMark(present = true): WipeMark & { isSet: boolean } {
  const mark = {
    isSet: present,
    present: async () => mark.isSet,
    begin: async () => undefined,
    finish: async () => (mark.isSet = true),
  }
  return mark
}

export const noImages: ImageStore = {
  put: async () => true,
  remove: async () => undefined,
  check: async () => ({}),
  url: (slug) => slug,
  thumbnailUrl: (slug) => slug,
}

/** Publishes what the backend has drawn as it is. */
export const asDrawn: FinishImage = async (png) => ({ png, sha256: 'x' })

/** What a backend that draws nothing says of its images. */
export const MADE_WITH: MadeWith = { backend: 'fake', version: null, sampler: 'euler_a', scheduler: null }

/** Nobody else ends a generation. */
export const noEnds: GenerationEnds = { watch: () => nothing }

/** Progress or previews that nobody looks at. */
export const noBoard = { set: async () => undefined, get: async () => undefined }
