export interface SlotLimits {
  /** Enough to keep Postgres busy, few enough that each request is answered soon. */
  readonly total: number
  readonly perHolder: number
  /** How long a request waits for a slot. */
  readonly patienceMs: number
}

/** Repeats do nothing. */
export type ReleaseSlot = () => void

type Waiter = (release: ReleaseSlot | undefined) => void

export type FairSlots = ReturnType<typeof createFairSlots>

/** Slots for requests at work. Holders that wait take turns: the next free slot goes to the one served longest ago. */
export function createFairSlots({ total, perHolder, patienceMs }: SlotLimits) {
  const taken = new Map<string, number>()
  /** No line is empty; the holder whose turn is next comes first. */
  const lines = new Map<string, Waiter[]>()
  let allTaken = 0

  const isFree = (holder: string) => allTaken < total && (taken.get(holder) ?? 0) < perHolder

  const takeSlot = (holder: string): ReleaseSlot => {
    allTaken++
    taken.set(holder, (taken.get(holder) ?? 0) + 1)
    let released = false
    return () => {
      if (released) return
      released = true
      allTaken--
      const rest = (taken.get(holder) ?? 0) - 1
      if (rest > 0) taken.set(holder, rest)
      else taken.delete(holder)
      serveNext()
    }
  }

  const serveNext = () => {
    for (const [holder, line] of lines) {
      if (!isFree(holder)) continue
      const next = line.shift()
      lines.delete(holder)
      if (line.length > 0) lines.set(holder, line)
      next?.(takeSlot(holder))
      return
    }
  }

  const giveUp = (holder: string, waiter: Waiter) => {
    const line = lines.get(holder) ?? []
    line.splice(line.indexOf(waiter), 1)
    if (line.length === 0) lines.delete(holder)
    waiter(undefined)
  }

  return {
    /** Undefined when no slot is free now. */
    take: (holder: string): ReleaseSlot | undefined => (isFree(holder) ? takeSlot(holder) : undefined),

    /** Resolves to undefined when no slot came free in time. @param patience ms */
    wait: (holder: string, patience = patienceMs) =>
      new Promise<ReleaseSlot | undefined>((resolve) => {
        const waiter: Waiter = (release) => {
          clearTimeout(timer)
          resolve(release)
        }
        const timer = setTimeout(() => giveUp(holder, waiter), patience)
        const line = lines.get(holder)
        if (line) line.push(waiter)
        else lines.set(holder, [waiter])
      }),
  }
}
