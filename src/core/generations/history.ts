/** An account's own generations, images and ledger entries, newest first; never another account's. */
import type { Page, PageRequest } from '../../lib/page.js'
import type { Generation, GenerationParameters, GenerationStatus } from './generation.js'
import type { MadeWith } from './run/backend.js'

export interface GenerationFilter {
  readonly status?: GenerationStatus | undefined
  readonly modelVersionId?: number | undefined
  /** Submitted at this time or later. */
  readonly since?: Date | undefined
  /** Submitted before this time. */
  readonly until?: Date | undefined
}

/** As a store has it: what may be left out is null there. */
type Stored<What> = { readonly [Name in keyof What]-?: Exclude<What[Name], undefined> }

export interface PastGeneration
  extends Stored<Omit<Generation, 'accountId' | 'keyId' | 'slugs' | 'cost' | 'webhookUrl'>> {
  readonly status: GenerationStatus
  readonly error: string | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  /** In credits. */
  readonly charged: number
  readonly refunded: number
  /** In batch order, without images that were removed. */
  readonly images: readonly Pick<OwnImage, 'slug' | 'seed' | 'hasThumbnail'>[]
}

/** An image as its owner sees it. */
export interface OwnImage
  extends Stored<GenerationParameters>,
    Pick<Generation, 'modelVersionId' | 'modelName' | 'filename'> {
  readonly slug: string
  readonly generationId: string
  readonly seed: number
  /** Of the published file, like the hash. */
  readonly bytes: number
  /** In lower-case hex. */
  readonly sha256: string
  readonly createdAt: Date
  /** Null where it was not recorded. */
  readonly madeWith: MadeWith | null
  /** False for images from before there were any. */
  readonly hasThumbnail: boolean
  readonly madeOn: MadeOn
}

/** How a generation came: from a signed-in person, or with a key that they gave to a program. */
export type MadeOn = 'website' | 'api'

interface ImageFilter extends Pick<GenerationFilter, 'modelVersionId'> {
  /** Part of the prompt, in any case. */
  readonly prompt?: string | undefined
  readonly madeOn?: MadeOn | undefined
}

/** The slugs of the images before and after one, in the order of the list of images. */
export interface Neighbours {
  readonly newer: string | null
  readonly older: string | null
}

export interface HistoryStore {
  generation(accountId: string, id: string): Promise<PastGeneration | undefined>
  /** Ordered by submit time. */
  generations(accountId: string, filter: GenerationFilter, page: PageRequest): Promise<Page<PastGeneration>>
  /**
   * Ordered by their generations' submit times, then in batch order; without removed images. A page that searches, by
   * prompt or by how they were made, may have fewer than it could, or none, and yet be followed by more.
   */
  images(accountId: string, filter: ImageFilter, page: PageRequest): Promise<Page<OwnImage>>
  image(accountId: string, slug: string): Promise<OwnImage | undefined>
  /** Undefined: the account has no such image. */
  neighbours(accountId: string, slug: string): Promise<Neighbours | undefined>
}
