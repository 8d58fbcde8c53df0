/** Estimates when a generation will end, from measurements only: without a measurement there is no estimate. */
import type { GenerationView, WorkOfModel } from '../generation.js'
import { type Pace, pixelStepsOf, remainingMs } from '../inference-pace.js'
import { type Polled, type PollPorts, type Progress, withState } from './poll.js'

/** The work to do and the speed of the backends; some seconds old. */
export interface Workload {
  /** By checkpoint file name, from recent successes. */
  readonly pace: ReadonlyMap<string, Pace>
  /** The front of the queue, summed by checkpoint. */
  readonly queued: readonly { readonly filename: string; readonly count: number; readonly pixelSteps: number }[]
  readonly running: readonly { readonly filename: string; readonly pixelSteps: number; readonly elapsedMs: number }[]
  /** The file names that each backend serves that is up and not paused; null: any. */
  readonly backends: readonly (readonly string[] | null)[]
  /** Likewise, of those that are paused and up. */
  readonly pausedBackends?: readonly (readonly string[] | null)[]
  /** The model files that backends of the first list have in memory. */
  readonly loaded?: readonly string[]
  /** Model files that nothing starts of. */
  readonly paused?: readonly string[]
  /** Nothing starts at all. */
  readonly allPaused?: boolean
}

export interface DurationEstimates {
  /** A snapshot shared by all callers; undefined while there is none. Never rejects. */
  current(): Promise<Workload | undefined>
}

/** Whole seconds until the generation ends, at least 1; undefined if it has ended or the time is unknown. */
export async function etaSeconds(estimates: DurationEstimates, polled: Polled): Promise<number | undefined> {
  if (polled.status !== 'queued' && polled.status !== 'processing') return undefined
  const workload = await estimates.current()
  const { runningSince, work } = polled
  const etaMs =
    polled.status === 'queued'
      ? workload && queuedEtaMs(workload, work, polled.queuePosition)
      : processingEtaMs(workload, work, runningSince && performance.now() - runningSince, polled)
  return etaMs === undefined ? undefined : Math.max(1, Math.ceil(etaMs / 1000))
}

/** The time of `count` generations of one model file, `pixelSteps` in all; undefined if the model's pace is unknown. */
function durationMs({ pace }: Workload, filename: string, pixelSteps: number, count = 1): number | undefined {
  const ofModel = pace.get(filename)
  return ofModel && ofModel.fixedMs * count + ofModel.msPerPixelStep * pixelSteps
}

const expectedMs = (workload: Workload, work: WorkOfModel): number | undefined =>
  durationMs(workload, work.filename, pixelStepsOf(work))

/** Its own time, plus the work before it divided among the backends that serve its model. */
export function queuedEtaMs(workload: Workload, work: WorkOfModel, place: number): number | undefined {
  const own = expectedMs(workload, work)
  const servers = workload.backends.filter((models) => models === null || models.includes(work.filename)).length
  if (own === undefined || servers === 0 || workload.paused?.includes(work.filename)) return undefined
  const before = place - 1
  if (workload.running.length + before < servers) return own
  const { meanQueuedMs = own, runningMs } = totalsOf(workload)
  return own + (before * meanQueuedMs + runningMs) / servers
}

/** @param elapsedMs undefined where it is meaningless, as after a requeue */
export function processingEtaMs(
  workload: Workload | undefined,
  work: WorkOfModel,
  elapsedMs: number | undefined,
  { progress, before }: Progress,
): number | undefined {
  const expected = workload && expectedMs(workload, work)
  // Each request that its server runs first is assumed to take as long as this one.
  if (before > 0) return expected && expected * (before + 1)
  if (progress === undefined) {
    const left = expected && expected - (elapsedMs ?? 0)
    // Overdue: the remaining time is unknown.
    return left !== undefined && left > 0 ? left : undefined
  }
  const byPace = expected && expected * (1 - progress)
  const byProgress = elapsedMs === undefined ? undefined : remainingMs(elapsedMs, progress, expected)
  // The elapsed time may include a wait in the server's own queue, so the smaller estimate counts.
  return byPace === undefined || byProgress === undefined ? (byPace ?? byProgress) : Math.min(byPace, byProgress)
}

const sumUp = (workload: Workload) => ({ meanQueuedMs: meanQueuedMs(workload), runningMs: runningMs(workload) })

/** Of the snapshots that polls still use: each is summed up once. */
const totals = new WeakMap<Workload, ReturnType<typeof sumUp>>()

function totalsOf(workload: Workload): ReturnType<typeof sumUp> {
  const known = totals.get(workload) ?? sumUp(workload)
  totals.set(workload, known)
  return known
}

function meanQueuedMs(workload: Workload): number | undefined {
  let total = 0
  let counted = 0
  for (const { filename, count, pixelSteps } of workload.queued) {
    const ms = durationMs(workload, filename, pixelSteps, count)
    if (ms === undefined) continue
    total += ms
    counted += count
  }
  return counted === 0 ? undefined : total / counted
}

/** The remaining time of all running generations, summed. */
const runningMs = (workload: Workload): number =>
  workload.running
    .map(({ filename, pixelSteps, elapsedMs }) => (durationMs(workload, filename, pixelSteps) ?? 0) - elapsedMs)
    .reduce((sum, leftMs) => sum + Math.max(0, leftMs), 0)

interface TimeLeftPorts extends Pick<PollPorts, 'positions' | 'progress'> {
  readonly estimates: DurationEstimates
}

/** A cap, because the generation may end sooner than estimated. */
const MAX_SECONDS = 60

/** For a submit that must wait for this generation: whole seconds, at least 1; undefined while they are unknown. */
export const timeLeft =
  (ports: TimeLeftPorts) =>
  async (active: GenerationView): Promise<number | undefined> => {
    const seconds = await withState(ports, active)
      .then((polled) => etaSeconds(ports.estimates, polled))
      .catch(() => undefined)
    return seconds && Math.min(seconds, MAX_SECONDS)
  }
