/** Why nothing starts for now, for those who wait for it. */
import type { DurationEstimates, Workload } from './eta.js'

/** The operator has paused all, the model or the backends that have it; no backend is alive; none that is has the model. */
export type Hold = 'all_paused' | 'model_paused' | 'backends_paused' | 'no_backend' | 'no_model'

/** What keeps a generation of this model file from starting, by a snapshot some seconds old; undefined: nothing. */
export async function holdOf(
  estimates: Pick<DurationEstimates, 'current'>,
  filename: string,
): Promise<Hold | undefined> {
  const workload = await estimates.current()
  return workload && holdIn(workload, filename)
}

/** Whether the live backends can draw with a model file, and whether at once. */
export interface ModelReadiness {
  readonly hold: Hold | undefined
  /** Whether one has it in memory, so that nothing need be loaded first. */
  readonly isLoaded: boolean
}

/** By a snapshot some seconds old; undefined while there is none. */
export async function readinessByModel(
  estimates: Pick<DurationEstimates, 'current'>,
): Promise<((filename: string) => ModelReadiness) | undefined> {
  const workload = await estimates.current()
  return (
    workload &&
    ((filename) => {
      const hold = holdIn(workload, filename)
      return { hold, isLoaded: hold === undefined && workload.loaded?.includes(filename) === true }
    })
  )
}

export function holdIn(workload: Workload, filename: string): Hold | undefined {
  const { backends, pausedBackends = [], paused = [], allPaused = false } = workload
  const has = (models: readonly string[] | null) => models === null || models.includes(filename)
  if (allPaused) return 'all_paused'
  if (paused.includes(filename)) return 'model_paused'
  if (backends.some(has)) return undefined
  if (pausedBackends.some(has)) return 'backends_paused'
  return backends.length + pausedBackends.length === 0 ? 'no_backend' : 'no_model'
}
