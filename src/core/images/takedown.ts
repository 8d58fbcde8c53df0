import { repeatedly, workOff } from '../../lib/repeatedly.js'
import { imageNotFound, serviceUnavailable } from '../errors.js'
import { type ImageStore, SLUG } from './ports.js'

export interface RemovedImage {
  readonly at: Date
  readonly reason: string | null
}

export interface ImageRemovals {
  /** Marks an image as removed; a repeat keeps the first time and reason. Undefined: the account has no such image. */
  remove(slug: string, reason: string | undefined, accountId?: string): Promise<RemovedImage | undefined>
}

/** The reason that is kept with it. */
export const REMOVED_BY_OWNER = 'Removed by its owner.'

interface RemovalPorts {
  readonly removals: ImageRemovals
  readonly images: Pick<ImageStore, 'remove'>
}

/**
 * Takes an image down for its owner.
 * @throws AppError `not_found`; `unavailable` when the image store is away: the next try removes the file
 */
export async function removeOwnImage({ removals, images }: RemovalPorts, accountId: string, slug: string) {
  const remove = (name: string) =>
    images.remove(name).catch((cause) => {
      throw serviceUnavailable(5, cause)
    })
  const options = { reason: REMOVED_BY_OWNER, accountId }
  if (!(await removeImage({ removals, images: { remove } }, slug, options))) throw imageNotFound()
}

/** Takes an image down: first the row, so that its page answers 410. `accountId`: the owner; undefined: any account. */
export async function removeImage(
  { removals, images }: RemovalPorts,
  slug: string,
  { reason, accountId }: { readonly reason: string | undefined; readonly accountId?: string },
): Promise<RemovedImage | undefined> {
  const removed = SLUG.test(slug) ? await removals.remove(slug, reason, accountId) : undefined
  if (removed) await images.remove(slug)
  return removed
}

/** Images that were taken down, whose file or CDN copy may still exist. */
export interface Takedowns {
  /** Removes the images whose owners can no longer undo that they deleted them; they are due then. */
  endDeletions(): Promise<void>
  /** Claims some that are due; each becomes due again, after growing pauses, until it is finished. */
  claimDue(): Promise<string[]>
  finish(slug: string): Promise<void>
}

/** Purges a URL from the CDN; rejects unless the CDN confirms it. */
export type PurgeCdn = (url: string, signal: AbortSignal) => Promise<void>

/** The URLs that are purged once more a little later: what a CDN had begun to fetch while the file was still there, it keeps. */
export interface LaterPurges {
  add(url: string): Promise<void>
  /** Claims some that are due; each becomes due again, after growing pauses, until it is finished. */
  claimDue(): Promise<string[]>
  finish(url: string): Promise<void>
}

/** Purges, and once more later, whichever server is there by then. */
export const purgedAgain =
  (purge: PurgeCdn, later: Pick<LaterPurges, 'add'>): PurgeCdn =>
  async (url, signal) => {
    await purge(url, signal)
    await later.add(url)
  }

/** Purges what is due, in any number of processes. */
export const startLaterPurges = (
  { later, purge }: { readonly later: LaterPurges; readonly purge: PurgeCdn },
  onFault: (error: unknown) => void,
): { stop(): void } => {
  const purgeAgain = async (url: string, signal: AbortSignal) => {
    await purge(url, signal)
    await later.finish(url)
  }
  return repeatedly((signal) => workOff(later.claimDue, (url) => purgeAgain(url, signal), signal), onFault)
}

interface TakedownPorts {
  readonly takedowns: Takedowns
  readonly images: Pick<ImageStore, 'remove' | 'url' | 'thumbnailUrl'>
  /** Undefined without a CDN. */
  readonly purge: PurgeCdn | undefined
  /** Told of each image whose file is gone, again with each try to purge it. */
  readonly onRemoved: (slug: string) => void
  /** What failed is retried. */
  readonly onFault: (error: unknown) => void
}

/** Removes the file and the CDN's copy of every image that was taken down in any process, and retries what fails. */
export function startTakedowns({ takedowns, images, purge, onRemoved, onFault }: TakedownPorts): { stop(): void } {
  const takeDown = async (slug: string, signal: AbortSignal) => {
    // The file first: a CDN that fetches it again must not get it.
    await images.remove(slug)
    onRemoved(slug)
    for (const url of [images.url(slug), images.thumbnailUrl(slug)]) await purge?.(url, signal)
    await takedowns.finish(slug)
  }
  // Before each claim: what owners delete must not wait until the queue is empty, which may take hours.
  const claimDue = async () => {
    await takedowns.endDeletions()
    return takedowns.claimDue()
  }
  return repeatedly((signal) => workOff(claimDue, (slug) => takeDown(slug, signal), signal), onFault)
}

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
