const HOUR = 3600
export const DAY = 24 * HOUR

/** Stripe's time, in seconds: goes on as ours does, from where it was started, and jumps when it is told to. */
export function createClock(start: Date) {
  const timers: { readonly at: number; readonly run: () => void }[] = []
  let ahead = start.getTime() - Date.now()
  let held: number | undefined
  const now = () => held ?? Math.floor((Date.now() + ahead) / 1000)
  return {
    now,
    /** Runs when the clock is advanced past that time. */
    at(at: number, run: () => void): void {
      let low = 0
      let high = timers.length
      while (low < high) {
        const middle = (low + high) >> 1
        if ((timers[middle]?.at ?? 0) <= at) low = middle + 1
        else high = middle
      }
      timers.splice(low, 0, { at, run })
    },
    /** Everything that is due until then happens, each at its time. */
    advanceTo(moment: Date): void {
      const until = Math.floor(moment.getTime() / 1000)
      for (let next = timers[0]; next && next.at <= until; next = timers[0]) {
        timers.shift()
        held = Math.max(next.at, now())
        next.run()
      }
      held = undefined
      ahead = Math.max(ahead, moment.getTime() - Date.now())
    },
  }
}

export type Clock = ReturnType<typeof createClock>

/** The n-th end of a period that is counted from `anchor`, as Stripe does it: the last day of a month that has no such day. */
export function after(anchor: number, interval: string, n: number): number {
  const from = new Date(anchor * 1000)
  const months = interval === 'year' ? 12 * n : interval === 'month' ? n : 0
  const days = interval === 'week' ? 7 * n : interval === 'day' ? n : 0
  const first = new Date(from)
  first.setUTCDate(1)
  first.setUTCMonth(first.getUTCMonth() + months)
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate()
  first.setUTCDate(Math.min(from.getUTCDate(), last))
  return Math.floor(first.getTime() / 1000) + days * DAY
}
