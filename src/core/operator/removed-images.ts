/** A removed image as the operator sees it. */
export interface RemovedImageEntry {
  readonly slug: string
  readonly removedAt: Date
  readonly reason: string | null
  readonly owner: string
  /** The operator who removed it; null: the owner, or nobody knows. */
  readonly removedBy: string | null
  /** While the file or the CDN's copy may still exist: how often its removal was tried, and when it is tried next. */
  readonly attempts: number | null
  readonly dueAt: Date | null
}

export interface RemovedImages {
  /** Newest first; `unfinished`: only those of which something may still exist. */
  list(
    filter: { readonly unfinished: boolean },
    page: { readonly limit: number; readonly after: string | undefined },
  ): Promise<{ readonly items: readonly RemovedImageEntry[]; readonly next: string | undefined }>
  countUnfinished(): Promise<number>
}

/** How an operator's removal is recorded; by it the list knows who it was. */
export const REMOVED_IMAGE = 'removed image'
