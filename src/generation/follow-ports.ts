/** What following a generation asks of the outside, beside ports.ts. */
import type { GenerationStatus, GenerationView } from './generation.js'
import type { Pace } from './run/inference-pace.js'

/** Tells of changes for any number of generations at once; holds no database connection of the pool while nothing changes. */
export interface GenerationWatch {
  /**
   * Tells each status that differs from the one told before, the first from `seen`; with `undefined` the present one
   * is told, too. Mostly within milliseconds, at the latest after some seconds of an outage.
   * @returns stops watching
   */
  watch(id: string, seen: GenerationStatus | undefined, tell: (view: GenerationView) => void): () => void
}

/** What running generations show meanwhile. Never the truth about anything: a lost value is only not shown. */
export interface LiveBoard<T> {
  set(id: string, attempt: number, value: T): Promise<void>
  /** Those of the given generations that have one. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, T>>
}

/** From 0 to 1. Below: not known yet, while the GPU server does so many other requests first (-1: none, -2: one). */
export type ProgressBoard = LiveBoard<number>

/** The latest preview of what is being drawn: a WebP of some kilobytes. */
export type PreviewBoard = LiveBoard<Buffer>

/** Previews are neither set nor told more often. */
export const PREVIEWS_EVERY_MS = 1000

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
