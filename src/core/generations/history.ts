/** An account's own generations, newest first; never another account's. */
import type { Page, PageRequest } from '../../lib/page.js'
import type { Generation, GenerationStatus, Stored } from './generation.js'

export interface GenerationFilter {
  readonly status?: GenerationStatus | undefined
  readonly modelVersionId?: number | undefined
  /** Submitted at this time or later. */
  readonly since?: Date | undefined
  /** Submitted before this time. */
  readonly until?: Date | undefined
}

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
  readonly images: readonly PastImage[]
}

interface PastImage {
  readonly slug: string
  readonly seed: number
  readonly width: number
  readonly height: number
  readonly hasThumbnail: boolean
  /** Strangers do not see it. */
  readonly isPrivate: boolean
}

export interface HistoryStore {
  generation(accountId: string, id: string): Promise<PastGeneration | undefined>
  /** Ordered by submit time. */
  generations(accountId: string, filter: GenerationFilter, page: PageRequest): Promise<Page<PastGeneration>>
}
