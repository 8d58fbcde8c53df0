interface DueWork<T> {
  /** Gives the next item that is due to this process alone; undefined: there is none. @param inFlight being worked on here */
  claim(inFlight: Iterable<T>): Promise<T | undefined>
  /** Never rejects: an item that could not be done is due again when its claim ends. */
  work(item: T): Promise<void>
  /** Whether another item may be begun now. */
  mayBegin(inFlight: number): boolean
  onClaimFault(err: unknown): void
}

/** Works off what is due, several items at once, in any number of processes. */
export function dueWork<T>({ claim, work, mayBegin, onClaimFault }: DueWork<T>) {
  const inFlight = new Map<T, Promise<void>>()
  let stopped = false
  let claiming: Promise<void> | undefined
  /** `wake` was called again: there may be items that the last claim did not see. */
  let again = false

  const claimAll = async (): Promise<void> => {
    try {
      while (again && !stopped) {
        again = false
        while (!stopped && mayBegin(inFlight.size)) {
          const item = await claim(inFlight.keys())
          if (item === undefined) break
          const done = work(item).finally(() => {
            inFlight.delete(item)
            if (!stopped) void wake()
          })
          inFlight.set(item, done)
        }
      }
    } catch (err) {
      again = false
      onClaimFault(err)
    }
  }

  /** Claims what is due and begins to work on it; does not wait for the work. Never rejects. */
  const wake = (): Promise<void> => {
    again = true
    claiming ??= claimAll().finally(() => {
      claiming = undefined
      if (again && !stopped) void wake()
    })
    return claiming
  }

  return {
    wake,

    /** Begins nothing more; resolves when what was begun has ended. @param leaving aborted after so long, to hasten that */
    async stop(leaving: AbortController, withinMs: number): Promise<void> {
      stopped = true
      await claiming
      const late = setTimeout(() => leaving.abort(), withinMs)
      await Promise.all(inFlight.values())
      clearTimeout(late)
    },
  }
}
