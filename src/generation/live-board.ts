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
