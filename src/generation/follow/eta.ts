/** When a generation will have ended, as far as measurements tell. Nothing is guessed where nothing was measured. */

import type { Account } from '../../account/account.js'
import { AppError, generationActive } from '../../errors.js'
import type { WorkOfModel } from '../generation.js'
import { type Pace, pixelStepsOf, remainingMs } from '../inference-pace.js'
import { hasEnded, type Polled, type PollPorts, type Processing, pollGeneration } from './poll.js'

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
const expectedMs = ({ pace }: WorkInSight, work: WorkOfModel): number | undefined => {
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

export type TimeLeftPorts = PollPorts & { readonly estimates: DurationEstimates }

/** A client that came back later would wait for nothing if the end came sooner than expected. */
const LONGEST_SECONDS = 60

/** Lets a refusal for an active generation say when that one is expected to have ended, as far as this is known. */
export async function sayWhenFree<T>(ports: TimeLeftPorts, account: Account, submit: Promise<T>): Promise<T> {
  try {
    return await submit
  } catch (error) {
    const id = error instanceof AppError && error.code === 'active_generation' ? error.detail.generationId : undefined
    const seconds = id && (await secondsLeft(ports, account, id).catch(() => undefined))
    throw id && seconds ? generationActive(id, Math.min(seconds, LONGEST_SECONDS)) : error
  }
}

const secondsLeft = async (ports: TimeLeftPorts, account: Account, id: string): Promise<number | undefined> =>
  etaSeconds(ports.estimates, await pollGeneration(ports, account, id))
