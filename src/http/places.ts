export interface PlaceLimits {
  /** In all: enough to keep Postgres busy, few enough that whoever has one is answered soon. */
  readonly total: number
  /** For one holder, so that one alone never takes all. */
  readonly perHolder: number
  /** How long one waits for a place. */
  readonly patienceMs: number
}

/** Gives the place back; to be called as often as one likes. */
export type Leave = () => void

/** A number of places that holders take turns in: who waits for one is next when all others that wait had theirs. */
export interface Places {
  /** The way out of a place that is free now; undefined when there is none. */
  take(holder: string): Leave | undefined
  /** Waits in line for a place; resolves to undefined when none came free in time. */
  wait(holder: string): Promise<Leave | undefined>
}

type Waiter = (leave: Leave | undefined) => void

export function createPlaces({ total, perHolder, patienceMs }: PlaceLimits): Places {
  const taken = new Map<string, number>()
  /** Only of those who have one; the holder whose turn is next comes first. */
  const lines = new Map<string, Waiter[]>()
  let allTaken = 0

  const isFree = (holder: string) => allTaken < total && (taken.get(holder) ?? 0) < perHolder

  const enter = (holder: string): Leave => {
    allTaken++
    taken.set(holder, (taken.get(holder) ?? 0) + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      allTaken--
      const rest = (taken.get(holder) ?? 0) - 1
      if (rest > 0) taken.set(holder, rest)
      else taken.delete(holder)
      admitNext()
    }
  }

  const admitNext = () => {
    for (const [holder, line] of lines) {
      if (!isFree(holder)) continue
      const [next] = line.splice(0, 1)
      lines.delete(holder)
      if (line.length > 0) lines.set(holder, line)
      next?.(enter(holder))
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
    take: (holder) => (isFree(holder) ? enter(holder) : undefined),

    wait: (holder) =>
      new Promise((resolve) => {
        const waiter: Waiter = (leave) => {
          clearTimeout(patience)
          resolve(leave)
        }
        const patience = setTimeout(() => giveUp(holder, waiter), patienceMs)
        const line = lines.get(holder)
        if (line) line.push(waiter)
        else lines.set(holder, [waiter])
      }),
  }
}
