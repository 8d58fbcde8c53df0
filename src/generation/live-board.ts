/** What running generations show. A lost value is merely not shown. */
export interface LiveBoard<T> {
  set(id: string, attempt: number, value: T): Promise<void>
  /** Those of the given generations that have one. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, T>>
}

/** 0 to 1. A negative value says that nothing is drawn yet, and how many requests the GPU server does first: -1 none, -2 one. */
export type ProgressBoard = LiveBoard<number>

/** The latest preview of what is being drawn: a WebP of some kilobytes. */
export type PreviewBoard = LiveBoard<Buffer>

/** Previews are not stored or sent more often. */
export const PREVIEWS_EVERY_MS = 1000
