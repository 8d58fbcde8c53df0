/** Estimates how long inferences take from those that have ended. */
import type { Work } from './generation.js'

const NEWEST_WEIGHT = 0.3

export const pixelStepsOf = ({ width, height, steps, batchSize }: Work): number => width * height * steps * batchSize

/** How long generations of one model file take: a fixed part, and one that grows with the work. */
export interface Pace {
  readonly fixedMs: number
  readonly msPerPixelStep: number
}

export interface Sample {
  readonly pixelSteps: number
  readonly steps: number
  readonly ms: number
}

/** If all samples are alike, decoding and storing are assumed to take as long as this many steps. */
const FIXED_AS_STEPS = 8
/** Two samples are alike if their work differs by a smaller factor. */
const UNLIKE_FACTOR = 1.5

/** Takes medians, so that a sample that loaded its model or had to wait does not count. Undefined without samples. */
export function paceOf(samples: readonly Sample[]): Pace | undefined {
  const [first] = samples
  if (!first) return undefined
  const slopes = samples.flatMap((one) =>
    samples
      .filter((other) => other.pixelSteps >= one.pixelSteps * UNLIKE_FACTOR)
      .map((other) => (other.ms - one.ms) / (other.pixelSteps - one.pixelSteps)),
  )
  if (slopes.length === 0) {
    const msPerStep = median(samples.map(({ ms }) => ms)) / (first.steps + FIXED_AS_STEPS)
    return { fixedMs: msPerStep * FIXED_AS_STEPS, msPerPixelStep: (msPerStep * first.steps) / first.pixelSteps }
  }
  const msPerPixelStep = Math.max(0, median(slopes))
  const fixedMs = median(samples.map(({ ms, pixelSteps }) => ms - msPerPixelStep * pixelSteps))
  if (fixedMs >= 0) return { fixedMs, msPerPixelStep }
  return { fixedMs: 0, msPerPixelStep: median(samples.map(({ ms, pixelSteps }) => ms / pixelSteps)) }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return ((sorted[(sorted.length - 1) >> 1] as number) + (sorted[sorted.length >> 1] as number)) / 2
}

export type InferencePace = ReturnType<typeof inferencePace>

/** A moving average of one backend's time per step and pixel. */
export function inferencePace() {
  let average = 0
  return {
    note(work: Work, ms: number): void {
      const sample = ms / pixelStepsOf(work)
      average = average === 0 ? sample : average + (sample - average) * NEWEST_WEIGHT
    },
    /** 0 while unknown. */
    msPerPixelStep: () => average,
    expectedMs: (work: Work): number | undefined => (average === 0 ? undefined : average * pixelStepsOf(work)),
  }
}

/** The remaining time: from the progress or, while that is small, from the expected time; undefined if unknown. */
export function remainingMs(elapsedMs: number, fraction: number, expectedMs: number | undefined): number | undefined {
  if (fraction > 0.05) return (elapsedMs * (1 - fraction)) / fraction
  return expectedMs === undefined ? undefined : Math.max(0, expectedMs - elapsedMs)
}
