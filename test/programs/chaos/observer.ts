import type { Exchange, Violation } from './history.js'
import { historyChecker } from './history-checker.js'
import { SECRET } from './stage.js'
import type { Windows } from './windows.js'

/** After Postgres accepts connections again, and after a server says that it is up. */
const GRACE_MS = 3000
/** A connection breaks before we learn that its process is dead, so an exchange is judged when that is known. */
const JUDGED_AFTER_MS = 3000

/** Everything that is noted while a run goes on. */
export function observer(windows: Windows) {
  const violations: Violation[] = []
  const faults = new Map<string, number>()
  const unexpectedEnds = new Map<string, number>()
  const deaths: { gpu: number; at: number }[] = []
  const availability = { asked: 0, answered: 0, excused: 0 }
  let kills = 0

  const excused = ({ server, asked, at, until }: Exchange) =>
    windows.during(
      [server, 'postgres', ...(asked.what === 'image' ? ['store'] : asked.what === 'page' ? ['stripe'] : [])],
      at,
      until,
      GRACE_MS,
    )
  const checker = historyChecker(excused, SECRET)

  const judge = (exchange: Exchange) => {
    checker.add(exchange)
    const { asked, got } = exchange
    if (got === 'hung up' || (asked.what !== 'submit' && asked.what !== 'poll')) return
    if (excused(exchange)) availability.excused++
    else availability.asked++
    if (!excused(exchange) && typeof got !== 'string' && got.status < 500) availability.answered++
  }
  const waiting: Exchange[] = []
  const timer = setInterval(() => {
    while (waiting[0] && waiting[0].until < Date.now() - JUDGED_AFTER_MS) judge(waiting.shift() as Exchange)
  }, 500)

  return {
    ...{ violations, faults, unexpectedEnds, deaths, availability, checker },
    kills: () => kills,
    note: (exchange: Exchange) => void waiting.push(exchange),
    fault: (kind: string) => void faults.set(kind, (faults.get(kind) ?? 0) + 1),
    killed: (name: string, at: number) => {
      kills++
      if (name.startsWith('worker-')) deaths.push({ gpu: Number(name.slice('worker-'.length)), at })
    },
    endedByItself: (name: string, how: string) => {
      const what = `${name.replace(/-\d+$/, '')}: ${how}`
      unexpectedEnds.set(what, (unexpectedEnds.get(what) ?? 0) + 1)
      violations.push({ invariant: 'I15', what: `${name} ended by itself: ${how}` })
    },
    /** Judges what is left; nothing is noted any more. */
    end: () => {
      clearInterval(timer)
      for (const exchange of waiting.splice(0)) judge(exchange)
    },
  }
}

export type Observer = ReturnType<typeof observer>
