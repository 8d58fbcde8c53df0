/** When a generation will have ended, as far as measurements tell. Nothing is guessed where nothing was measured. */
import type { DurationEstimates, WorkInSight } from './follow-ports.js'
import type { WorkOfModel } from './generation.js'
import { pixelStepsOf, remainingMs } from './inference-pace.js'
import { hasEnded, type Polled } from './poll.js'

/** Whole seconds until the generation will have ended, at least 1; undefined when it has, or when nobody can say. */
export async function etaSeconds(estimates: DurationEstimates, polled: Polled): Promise<number | undefined> {
  if (hasEnded(polled)) return undefined
  const etaMs = etaOf(await estimates.current(), polled)
  return etaMs === undefined ? undefined : Math.max(1, Math.ceil(etaMs / 1000))
}

function etaOf(sight: WorkInSight | undefined, polled: Polled): number | undefined {
  if (polled.status === 'queued') return sight && queuedEtaMs(sight, polled.work, polled.queuePosition)
  if (polled.status !== 'processing') return undefined
  const { runningSince, work, progress } = polled
  return processingEtaMs(sight, work, runningSince && performance.now() - runningSince, progress)
}

/** What the generation alone takes. */
export const expectedMs = ({ pace }: WorkInSight, work: WorkOfModel): number | undefined => {
  const perPixelStep = pace.get(work.filename)
  return perPixelStep === undefined ? undefined : perPixelStep * pixelStepsOf(work)
}

/** The work before the generation, shared by the backends that serve its model, and its own. */
export function queuedEtaMs(sight: WorkInSight, work: WorkOfModel, place: number): number | undefined {
  const own = expectedMs(sight, work)
  const servers = sight.backends.filter((models) => models === null || models.includes(work.filename)).length
  if (own === undefined || servers === 0) return undefined
  const before = place - 1
  if (sight.running.length + before < servers) return own
  return own + (before * (meanQueuedMs(sight) ?? own) + runningMs(sight)) / servers
}

/** @param elapsedMs undefined where it says nothing, as after a second start */
export function processingEtaMs(
  sight: WorkInSight | undefined,
  work: WorkOfModel,
  elapsedMs: number | undefined,
  progress: number,
): number | undefined {
  const expected = sight && expectedMs(sight, work)
  if (elapsedMs !== undefined) return remainingMs(elapsedMs, progress, expected)
  return expected === undefined ? undefined : expected * (1 - progress)
}

function meanQueuedMs({ queued, pace }: WorkInSight): number | undefined {
  let total = 0
  let counted = 0
  for (const { filename, count, pixelSteps } of queued) {
    const perPixelStep = pace.get(filename)
    if (perPixelStep === undefined) continue
    total += perPixelStep * pixelSteps
    counted += count
  }
  return counted === 0 ? undefined : total / counted
}

const runningMs = ({ running, pace }: WorkInSight): number =>
  running.reduce(
    (sum, { filename, pixelSteps, elapsedMs }) => sum + Math.max(0, (pace.get(filename) ?? 0) * pixelSteps - elapsedMs),
    0,
  )
