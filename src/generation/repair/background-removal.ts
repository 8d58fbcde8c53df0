import type { ImageStore } from '../ports.js'

/** What waits beyond that is forgotten: the reconciler's sweep finds it again. */
const MOST_WAITING = 10_000

/**
 * Removes pictures one after the other, and nobody waits for it: a store that hangs holds up no more than the removal.
 * `remove` resolves at once; `stop` begins no further one.
 */
export function removeInBackground(images: Pick<ImageStore, 'remove'>): Pick<ImageStore, 'remove'> & { stop(): void } {
  const waiting = new Set<string>()
  let running = false
  let stopped = false

  const work = async () => {
    running = true
    // Goes on with what is added meanwhile.
    for (const slug of waiting) {
      waiting.delete(slug)
      await images.remove(slug).catch(() => undefined)
    }
    running = false
  }

  return {
    async remove(slug) {
      if (!stopped && waiting.size < MOST_WAITING) waiting.add(slug)
      if (!running) void work()
    },
    stop() {
      stopped = true
      waiting.clear()
    },
  }
}
