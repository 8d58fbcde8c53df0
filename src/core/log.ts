/** What the core asks of a log: facts first, then a constant sentence; never a prompt or a key. */
export interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

const EVERY_MS = 5000

/** Calls `tell` at most once in five seconds, with how often it was asked to since, and with the latest value. */
export function occasionally<T = void>(tell: (times: number, latest: T) => void): (value: T) => void {
  let times = 0
  let toldAt = Number.NEGATIVE_INFINITY
  return (value) => {
    times++
    if (performance.now() - toldAt < EVERY_MS) return
    toldAt = performance.now()
    tell(times, value)
    times = 0
  }
}
