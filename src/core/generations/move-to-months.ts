/** What has ended for months moves from the live tables to those of its month, a few generations at a time. */
import { setTimeout as delay } from 'node:timers/promises'
import { repeatedly } from '../../lib/repeatedly.js'
import type { Log } from '../log.js'
import type { PassLease } from './ports.js'

export interface MonthStore {
  /**
   * The next generations, in the order of submits, of which some are due: their month ended so many months before this one.
   * @param liveMonths how many whole months before this one stay live
   * @param after the `last` of those before
   */
  next(liveMonths: number, after: number): Promise<EndedGenerations>
  /** Makes the month's tables, and resolves to whether there were none. */
  add(month: string): Promise<boolean>
  /** Moves those that nobody holds, each with all that hangs on it, in one transaction. Resolves to how many these were. */
  move(ids: readonly string[]): Promise<number>
}

interface EndedGenerations {
  /** Of those that are due. None: neither is any that comes later. */
  readonly ids: readonly string[]
  /** Theirs, like 2026-09-01. */
  readonly months: readonly string[]
  readonly last: number
}

/** What was done. */
export interface MovedToMonths {
  generations: number
  /** Those that somebody held. */
  left: number
  /** Those that got tables. */
  readonly months: string[]
}

/** The pause after each step, as a multiple of the step's time: what people ask for has the disk most of the time. */
const PAUSE = 2
const MIN_PAUSE_MS = 20

/** @param began as performance.now() told it. Ends early when stopped. */
export const pauseAfter = (began: number, signal: AbortSignal): Promise<void> =>
  delay(Math.max(MIN_PAUSE_MS, (performance.now() - began) * PAUSE), undefined, { signal }).catch(() => undefined)

/**
 * Moves all that is due. It may be stopped or killed at any moment, and be at work more than once: each step is done wholly or
 * not at all. What somebody holds is left for the next time.
 * @param onStep told after each step
 */
export async function moveToMonths(
  store: MonthStore,
  liveMonths: number,
  signal: AbortSignal,
  onStep: (moved: MovedToMonths) => unknown = () => undefined,
): Promise<MovedToMonths> {
  const moved: MovedToMonths = { generations: 0, left: 0, months: [] }
  const known = new Set<string>()
  for (let after = 0; !signal.aborted; ) {
    const began = performance.now()
    const { ids, months, last } = await store.next(liveMonths, after)
    if (ids.length === 0) break
    for (const month of months) {
      if (!known.has(month) && (await store.add(month))) moved.months.push(month)
      known.add(month)
    }
    const done = await store.move(ids)
    moved.generations += done
    moved.left += ids.length - done
    after = last
    await onStep(moved)
    await pauseAfter(began, signal)
  }
  return moved
}

interface Ports {
  readonly lease: PassLease
  readonly store: MonthStore
  readonly liveMonths: number
  readonly log: Pick<Log, 'info'>
  /** What failed is tried again by the next pass. */
  readonly onFault: (error: unknown) => void
}

/** Moves what is due about once an hour, in one of all servers. */
export function startMonths({ lease, store, liveMonths, log, onFault }: Ports): { stop(): void } {
  const holder = crypto.randomUUID()
  return repeatedly(async (signal) => {
    if (!(await lease.begin(holder))) return
    const moved = await moveToMonths(store, liveMonths, signal, () => lease.goOn(holder))
    if (moved.generations > 0 || moved.left > 0)
      log.info({ ...moved }, 'what has ended for months was moved to its months')
    if (!signal.aborted) await lease.end(holder, false)
  }, onFault)
}
