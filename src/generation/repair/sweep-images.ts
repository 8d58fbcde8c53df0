import type { ImageStore } from '../shared-ports.js'
import type { ReconcilePorts } from './ports.js'

type Removal = Pick<ImageStore, 'remove'>

/** Removes image files of failed generations. */
export async function sweepImages({ rows, images }: ReconcilePorts): Promise<void> {
  for (const slug of await rows.wastedSlugs()) await images.remove(slug).catch(() => undefined)
}

/** Removals beyond this many are dropped: the next sweep finds the files again. */
const MAX_WAITING = 10_000

/**
 * Removes files one after the other in the background, so that a store that hangs holds up no repair. `remove` resolves at
 * once; after `stop` no further removal begins.
 */
export function removeInBackground(images: Removal): Removal & { stop(): void } {
  const waiting = new Set<string>()
  let running = false
  let stopped = false

  const work = async () => {
    running = true
    // A Set's iteration also meets what is added meanwhile.
    for (const slug of waiting) {
      waiting.delete(slug)
      await images.remove(slug).catch(() => undefined)
    }
    running = false
  }

  return {
    async remove(slug) {
      if (!stopped && waiting.size < MAX_WAITING) waiting.add(slug)
      if (!running) void work()
    },
    stop() {
      stopped = true
      waiting.clear()
    },
  }
}
