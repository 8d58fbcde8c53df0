/** When a generation will have ended. Only measurements count: nothing is guessed where nothing was measured. */

import type { Account } from '../../account/account.js'
import { AppError, generationActive } from '../../errors.js'
import type { WorkOfModel } from '../generation.js'
import { type Pace, pixelStepsOf, remainingMs } from '../inference-pace.js'
import { type Polled, type PollPorts, type Progress, pollGeneration } from './poll.js'

/** What there is to do, and how fast it is done; some seconds old. */
export interface WorkInSight {
  /** What recent successes took, by checkpoint file name. */
  readonly pace: ReadonlyMap<string, Pace>
  /** What waits at the front of the queue, summed up by checkpoint. */
  readonly queued: readonly { readonly filename: string; readonly count: number; readonly pixelSteps: number }[]
  readonly running: readonly { readonly filename: string; readonly pixelSteps: number; readonly elapsedMs: number }[]
  /** The backends that are up, by the file names that they serve; null: any. */
  readonly backends: readonly (readonly string[] | null)[]
}

export interface DurationEstimates {
  /** One snapshot for all who ask. Never rejects: undefined while nothing can be known. */
  current(): Promise<WorkInSight | undefined>
}

/** Whole seconds until the generation will have ended, at least 1; undefined if it has, or if that is not known. */
export async function etaSeconds(estimates: DurationEstimates, polled: Polled): Promise<number | undefined> {
  if (polled.status !== 'queued' && polled.status !== 'processing') return undefined
  const sight = await estimates.current()
  const { runningSince, work } = polled
  const etaMs =
    polled.status === 'queued'
      ? sight && queuedEtaMs(sight, work, polled.queuePosition)
      : processingEtaMs(sight, work, runningSince && performance.now() - runningSince, polled)
  return etaMs === undefined ? undefined : Math.max(1, Math.ceil(etaMs / 1000))
}

/** How long `count` generations of one model file take, with this much work in all; undefined if its pace is not known. */
function durationMs({ pace }: WorkInSight, filename: string, pixelSteps: number, count = 1): number | undefined {
  const its = pace.get(filename)
  return its && its.fixedMs * count + its.msPerPixelStep * pixelSteps
}

const expectedMs = (sight: WorkInSight, work: WorkOfModel): number | undefined =>
  durationMs(sight, work.filename, pixelStepsOf(work))

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
  { progress, before }: Progress,
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

function meanQueuedMs(sight: WorkInSight): number | undefined {
  let total = 0
  let counted = 0
  for (const { filename, count, pixelSteps } of sight.queued) {
    const ms = durationMs(sight, filename, pixelSteps, count)
    if (ms === undefined) continue
    total += ms
    counted += count
  }
  return counted === 0 ? undefined : total / counted
}

/** What is left of the running generations, all together. */
const runningMs = (sight: WorkInSight): number =>
  sight.running
    .map(({ filename, pixelSteps, elapsedMs }) => (durationMs(sight, filename, pixelSteps) ?? 0) - elapsedMs)
    .reduce((sum, leftMs) => sum + Math.max(0, leftMs), 0)

export type TimeLeftPorts = PollPorts & { readonly estimates: DurationEstimates }

/** A client that waited longer would waste time if the generation ended sooner than expected. */
const MAX_SECONDS = 60

/** Adds to a refusal for an active generation when that one is expected to have ended, if that is known. */
export async function sayWhenFree<T>(ports: TimeLeftPorts, account: Account, submit: Promise<T>): Promise<T> {
  try {
    return await submit
  } catch (error) {
    const id = error instanceof AppError && error.code === 'active_generation' && error.detail.generationId
    if (!id) throw error
    const seconds = await pollGeneration(ports, account, id)
      .then((polled) => etaSeconds(ports.estimates, polled))
      .catch(() => undefined)
    throw seconds ? generationActive(id, Math.min(seconds, MAX_SECONDS)) : error
  }
}
