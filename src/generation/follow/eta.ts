/** When a generation will have ended, as far as measurements tell. Nothing is guessed where nothing was measured. */
import type { DurationEstimates, WorkInSight } from '../follow-ports.js'
import type { WorkOfModel } from '../generation.js'
import { pixelStepsOf, remainingMs } from '../run/inference-pace.js'
import { hasEnded, type Polled, type Processing } from './poll.js'

/** Whole seconds until the generation will have ended, at least 1; undefined when it has, or when nobody can say. */
export async function etaSeconds(estimates: DurationEstimates, polled: Polled): Promise<number | undefined> {
  if (hasEnded(polled)) return undefined
  const etaMs = etaOf(await estimates.current(), polled)
  return etaMs === undefined ? undefined : Math.max(1, Math.ceil(etaMs / 1000))
}

function etaOf(sight: WorkInSight | undefined, polled: Polled): number | undefined {
  if (polled.status === 'queued') return sight && queuedEtaMs(sight, polled.work, polled.queuePosition)
  if (polled.status !== 'processing') return undefined
  const { runningSince, work } = polled
  return processingEtaMs(sight, work, runningSince && performance.now() - runningSince, polled)
}

/** What the generation alone takes. */
export const expectedMs = ({ pace }: WorkInSight, work: WorkOfModel): number | undefined => {
  const its = pace.get(work.filename)
  return its && its.fixedMs + its.msPerPixelStep * pixelStepsOf(work)
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
  { progress, before }: Pick<Processing, 'progress' | 'before'>,
): number | undefined {
  const expected = sight && expectedMs(sight, work)
  // What its server does first is taken to be as much work as this.
  if (before > 0) return expected && expected * (before + 1)
  if (progress === undefined) {
    const left = expected && expected - (elapsedMs ?? 0)
    // Longer than expected: nobody knows by how much.
    return left !== undefined && left > 0 ? left : undefined
  }
  const byPace = expected && expected * (1 - progress)
  const byItself = elapsedMs === undefined ? undefined : remainingMs(elapsedMs, progress, expected)
  // The time since it was claimed may hold a wait on its server.
  return byPace === undefined || byItself === undefined ? (byPace ?? byItself) : Math.min(byPace, byItself)
}

function meanQueuedMs({ queued, pace }: WorkInSight): number | undefined {
  let total = 0
  let counted = 0
  for (const { filename, count, pixelSteps } of queued) {
    const its = pace.get(filename)
    if (!its) continue
    total += its.fixedMs * count + its.msPerPixelStep * pixelSteps
    counted += count
  }
  return counted === 0 ? undefined : total / counted
}

const runningMs = ({ running, pace }: WorkInSight): number =>
  running.reduce((sum, { filename, pixelSteps, elapsedMs }) => {
    const { fixedMs, msPerPixelStep } = pace.get(filename) ?? { fixedMs: 0, msPerPixelStep: 0 }
    return sum + Math.max(0, fixedMs + msPerPixelStep * pixelSteps - elapsedMs)
  }, 0)
