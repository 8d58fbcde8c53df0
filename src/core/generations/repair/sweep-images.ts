import type { ImageStore } from '../../images/ports.js'
import type { ReconcilePorts } from './ports.js'

type Removal = Pick<ImageStore, 'remove'>

/** Removes image files of failed generations. */
export async function sweepImages({ rows, images }: ReconcilePorts): Promise<void> {
  for (const slug of await rows.wastedSlugs()) await images.remove(slug).catch(() => undefined)
}

/** Removals beyond this many are dropped: the next sweep finds the files again. */
const MAX_WAITING = 10_000

/** Removes files in the background, one by one, so that a store that hangs delays no repair, until `stop`. */
export function removeInBackground(images: Removal): Removal & { stop(): void } {
  const waiting = new Set<string>()
  let running = false
  let stopped = false

  const work = async () => {
    running = true
    // Iterating a Set includes what is added meanwhile.
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
