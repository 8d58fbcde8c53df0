/** An account's own images, newest first; never another account's. */
import type { Page, PageRequest } from '../../lib/page.js'
import type { Generation, GenerationParameters, Stored } from '../generations/generation.js'
import type { MadeWith } from '../generations/run/backend.js'

/** An image as its owner sees it; `width` and `height` are its own. */
export interface OwnImage
  extends Stored<GenerationParameters>,
    Pick<Generation, 'modelVersionId' | 'modelName' | 'filename'> {
  readonly slug: string
  readonly generationId: string
  readonly seed: number
  /** The size that was asked for, which a model may have enlarged. */
  readonly askedWidth: number
  readonly askedHeight: number
  /** Of the published file, like the hash. */
  readonly bytes: number
  /** In lower-case hex. */
  readonly sha256: string
  readonly createdAt: Date
  /** Null where it was not recorded. */
  readonly madeWith: MadeWith | null
  /** False for images from before there were any. */
  readonly hasThumbnail: boolean
  /** Strangers see neither its page nor its file. */
  readonly isPrivate: boolean
  readonly madeOn: MadeOn
  readonly isFavourite: boolean
}

/** How a generation came: from a signed-in person, or with a key that they gave to a program. */
export type MadeOn = 'website' | 'api'

export type Shape = 'portrait' | 'landscape' | 'square'

export type ImageOrder = 'newest' | 'oldest'

interface ImageFilter {
  /** One of the account's own, or FAVOURITES; undefined: all images. */
  readonly folder?: string | undefined
  readonly shape?: Shape | undefined
  /** Of the submit. */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  readonly modelVersionId?: number | undefined
  /** Part of the prompt, in any case. */
  readonly prompt?: string | undefined
  readonly madeOn?: MadeOn | undefined
}

/** The slugs of the images before and after one, in the order of the list of images. */
export interface Neighbours {
  readonly newer: string | null
  readonly older: string | null
}

export interface GalleryStore {
  /**
   * Ordered by their generations' submit times, then in batch order; without those that were removed or deleted. A page
   * that searches, by anything but a folder, may have fewer than it could, or none, and yet be followed by more.
   */
  images(accountId: string, filter: ImageFilter, page: PageRequest, order?: ImageOrder): Promise<Page<OwnImage>>
  image(accountId: string, slug: string): Promise<OwnImage | undefined>
  /** Undefined: the account has no such image. */
  neighbours(accountId: string, slug: string): Promise<Neighbours | undefined>
}
