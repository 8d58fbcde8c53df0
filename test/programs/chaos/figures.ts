import type { GpuRun } from './gpus.js'

/** Of measured times, in milliseconds. */
export interface Spread {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
}

/**
 * From a worker's death to the moment when what it ran runs again somewhere. A death between two runs heals nothing;
 * neither does one after the image was recorded.
 * @param deaths by worker, whose GPU is the one of the same number
 */
export function healTimes(
  runs: readonly GpuRun[],
  deaths: readonly { readonly gpu: number; readonly at: number }[],
): number[] {
  const ofTag = new Map<string, GpuRun[]>()
  const ofGpu = new Map<number, GpuRun[]>()
  for (const run of runs) {
    for (const [map, key] of [
      [ofTag, run.tag],
      [ofGpu, run.gpu],
    ] as [Map<string | number, GpuRun[]>, string | number][]) {
      const others = map.get(key)
      if (others) others.push(run)
      else map.set(key, [run])
    }
  }
  return deaths.flatMap(({ gpu, at }) => {
    const last = ofGpu.get(gpu)?.findLast((run) => run.at <= at)
    if (!last || (last.endedAt !== undefined && last.endedAt < at - STALE_MS)) return []
    const next = ofTag.get(last.tag)?.find((run) => run.at > at)
    return next ? [next.at - at] : []
  })
}

/** What ended longer before a death was not in the dead worker's hands any more. */
const STALE_MS = 1000

/** Runs that drew an image which nobody got; those that were to draw a useless one don't count. */
export function wastedRuns(runs: readonly GpuRun[], succeededTags: ReadonlySet<string>): number {
  const answered = runs.filter(({ answered, kind }) => answered && kind !== 'broken')
  const delivered = new Set(answered.filter(({ tag }) => succeededTags.has(tag)).map(({ tag }) => tag))
  return answered.length - delivered.size
}
