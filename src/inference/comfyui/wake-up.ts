/** Wakes who waits, or will wait next. */
export interface Job {
  ring(): void
  /** Until the next ring, or one since the last wait, but no longer than `ms`. */
  wait(ms: number): Promise<void>
}

export function createWakeUp(): Job {
  let rung = false
  let wake = () => {}
  return {
    ring() {
      rung = true
      wake()
    },
    async wait(ms) {
      if (!rung)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      rung = false
    },
  }
}
