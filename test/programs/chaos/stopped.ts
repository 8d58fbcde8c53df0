import type { Seeded } from '../../support/seeded.js'
import { type Supervised, stoppedAmong } from './supervised.js'

const LOOK_MS = 400

/** Wakes up processes that a failpoint has stopped, after a while. */
export function resumeStopped(
  all: readonly Supervised[],
  chance: Seeded,
  forMs: readonly [number, number] = [200, 14_000],
  onFound: (kind: string) => void,
) {
  const timers = new Set<NodeJS.Timeout>()
  let lookedAt = Date.now()
  let stopped = false

  const look = async () => {
    const since = lookedAt
    lookedAt = Date.now()
    const running = all.filter((each) => each.pid !== undefined && !each.paused)
    const found = await stoppedAmong(running.map(({ pid }) => pid as number))
    for (const each of running) {
      if (!found.includes(each.pid as number) || each.paused) continue
      onFound(`${each.name.replace(/-\d+$/, '')}.stopped_itself`)
      each.pause(since)
      const timer = setTimeout(
        () => {
          timers.delete(timer)
          each.resume()
        },
        chance.between(...forMs),
      )
      timers.add(timer)
    }
    if (!stopped) next = setTimeout(() => void look(), LOOK_MS)
  }
  let next = setTimeout(() => void look(), LOOK_MS)

  return {
    stop: () => {
      stopped = true
      clearTimeout(next)
      for (const timer of timers) clearTimeout(timer)
      for (const each of all) each.resume()
    },
  }
}
