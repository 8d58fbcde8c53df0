/** The newest images of all accounts, and taking one down. */
import type { Page, PageRequest } from '../../lib/page.js'
import { AppError } from '../errors.js'
import { type ImageRemovals, REMOVED_IMAGE, type RemovedImage, removeImage } from '../images/takedown.js'
import type { Acting } from './acting.js'

/** A published image, as operators see it among those of all accounts. */
export interface RecentImage {
  readonly slug: string
  readonly generationId: string
  readonly username: string
  readonly hasThumbnail: boolean
}

export interface RecentImages {
  /**
   * The images of the newest generations of all accounts, without removed ones: of `limit` generations, so that a page has up
   * to four times as many images, or none.
   */
  list(page: PageRequest): Promise<Page<RecentImage>>
  /** The ID of the generation that an image is of, also of a removed one; undefined: there is no such image. */
  generationOf(slug: string): Promise<string | undefined>
}

interface RemovalStores {
  readonly removals: ImageRemovals
}

/** Takes an image down, whoever owns it; a repeat keeps the first time and reason. @throws not_found */
export async function takeDown(acting: Acting<RemovalStores>, slug: string): Promise<RemovedImage> {
  const removals: ImageRemovals = {
    remove: (...asked) =>
      acting.recorded(
        (stores) => stores.removals.remove(...asked),
        (removed) => removed && [REMOVED_IMAGE, slug],
      ),
  }
  const images = { remove: acting.outside.removeImage }
  const removed = await removeImage({ removals, images }, slug, { reason: acting.by.reason || undefined })
  if (!removed)
    throw new AppError('not_found', `No image has the ID "${slug}": it is the last part of the image's address.`)
  return removed
}
