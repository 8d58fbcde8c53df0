/** So many different generations failed in a row: the server is to blame, and not each of them. */
const OUT_OF_ORDER = 3
/** Then its faults count again: with their pauses some five minutes later. */
const MOST_SPARED = 20
/** What another worker has finished would stay for ever. */
const MOST_REMEMBERED = 100

/** What a worker remembers of one backend's failures, to tell a broken server from a broken generation. */
export interface BackendExperience {
  /** The connection broke amid the generation's inference. */
  noteDrop(id: string): void
  /** The generation has ended or gone back otherwise. */
  noteEnd(id: string, succeeded: boolean): void
  /** A server that dies of this one generation, and finished others between its deaths, is not to blame. */
  isCulprit(id: string): boolean
  /**
   * Its inference failed: how often it was spared a try for that before, when the server fails one generation after the
   * other, whatever they are; undefined when the fault is to be counted.
   */
  spared(id: string): number | undefined
}

export function backendExperience(): BackendExperience {
  /** How many others it has finished since it went away in the midst of this one. */
  const drops = new Map<string, number>()
  /** How often the inference has failed since the last one that was finished. */
  const faults = new Map<string, number>()
  return {
    noteDrop(id) {
      drops.delete(id)
      remember(drops, id, 0)
    },
    noteEnd(id, succeeded) {
      drops.delete(id)
      if (!succeeded) return
      faults.clear()
      for (const [other, finished] of drops) drops.set(other, finished + 1)
    },
    isCulprit: (id) => (drops.get(id) ?? 0) > 0,
    spared(id) {
      const before = faults.get(id) ?? 0
      remember(faults, id, before + 1)
      return faults.size >= OUT_OF_ORDER && before < MOST_SPARED ? before : undefined
    },
  }
}

/** The oldest go. */
function remember(counts: Map<string, number>, id: string, count: number): void {
  counts.set(id, count)
  const [oldest] = counts.keys()
  if (oldest !== undefined && counts.size > MOST_REMEMBERED) counts.delete(oldest)
}
