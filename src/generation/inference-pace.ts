/** What one backend takes for one step over one pixel, learnt from what it has drawn: a moving average. */

export interface Work {
  readonly width: number
  readonly height: number
  readonly steps: number
  readonly batchSize: number
}

const NEWEST_COUNTS = 0.3

export const pixelStepsOf = ({ width, height, steps, batchSize }: Work): number => width * height * steps * batchSize

export function inferencePace() {
  let average = 0
  return {
    note(work: Work, ms: number): void {
      const sample = ms / pixelStepsOf(work)
      average = average === 0 ? sample : average + (sample - average) * NEWEST_COUNTS
    },
    /** 0 while nothing is known. */
    get msPerPixelStep(): number {
      return average
    },
    /** Undefined while nothing is known. */
    expectedMs: (work: Work): number | undefined => (average === 0 ? undefined : average * pixelStepsOf(work)),
  }
}

/**
 * What is left of an inference, in milliseconds: by its own progress where it tells, else by what was expected.
 * Undefined when nobody can say.
 */
export function remainingMs(elapsedMs: number, fraction: number, expectedMs: number | undefined): number | undefined {
  if (fraction > 0.05) return (elapsedMs * (1 - fraction)) / fraction
  return expectedMs === undefined ? undefined : Math.max(0, expectedMs - elapsedMs)
}
