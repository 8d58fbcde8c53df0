import { SLUG } from '../generation.js'
import type { ImageStore } from '../image-store.js'

export interface RemovedImage {
  readonly at: Date
  readonly reason: string | null
}

export interface ImageRemovals {
  /**
   * Marks an image as removed; a repeat keeps the first time and reason. Undefined: there is no such image, or it is
   * not the account's that was given.
   */
  remove(slug: string, reason: string | undefined, accountId?: string): Promise<RemovedImage | undefined>
}

interface RemovePorts {
  readonly removals: ImageRemovals
  readonly images: Pick<ImageStore, 'remove'>
}

/**
 * Takes an image down. The row first: its page says 410 from then on, and takedown.ts sees to the rest if this can't.
 * @param options `accountId`: whose it must be; without one it may be anybody's
 */
export async function removeImage(
  { removals, images }: RemovePorts,
  slug: string,
  { reason, accountId }: { readonly reason: string | undefined; readonly accountId?: string },
): Promise<RemovedImage | undefined> {
  const removed = SLUG.test(slug) ? await removals.remove(slug, reason, accountId) : undefined
  if (removed) await images.remove(slug)
  return removed
}
