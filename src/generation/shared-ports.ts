/** Ports to Redis, the queue and the image store that several steps of a generation share. */

/** A lock expires this long after its generation's deadline, so never before the generation ends. */
export const LOCK_MARGIN_MS = 60_000

export interface HeldLock {
  readonly accountId: string
  readonly generationId: string
}

export type LockToKeep = HeldLock & { readonly ttlMs: number }

type LockOutcome =
  | { readonly acquired: true }
  | { readonly acquired: false; readonly holder: string; readonly wasStored: boolean }

/** At most one active charged generation per account. Postgres's unique index guards that; the lock refuses early. */
export interface ActiveGenerationLock {
  /**
   * Takes the lock, or names the generation that holds it. Succeeds while Redis is down, and again for the same
   * generation. `wasStored`: the lock was extended, so its holder was stored.
   */
  acquire(accountId: string, generationId: string): Promise<LockOutcome>
  /** Takes the lock over from a holder that is known to have ended. */
  replace(accountId: string, holder: string, generationId: string): Promise<boolean>
  /** Extends a lock unless it was released: the generation may have ended. Best effort. */
  extend(lock: LockToKeep): Promise<void>
  /** Extends the locks of active generations, or sets them again. False: Redis is not known to have done it. */
  keep(locks: readonly LockToKeep[]): Promise<boolean>
  /** Deletes the lock if this generation holds it. If Redis fails, resolves all the same, and tries again for 15 s. */
  release(accountId: string, generationId: string): Promise<void>
  /** All locks, in pages. */
  all(): AsyncIterable<readonly HeldLock[]>
}

/** One attempt of a generation, as its job in the queue names it. */
export interface Delivery {
  readonly id: string
  readonly attempt: number
}

/** A job says that there is work; the claim in Postgres decides which. */
export interface GenerationQueue {
  /** Best effort within a deadline, never an error. Resolves to whether the jobs are known to be in the queue. */
  enqueue(deliveries: readonly Delivery[]): Promise<boolean>
  /** Removes the job of an attempt that was claimed or ended without it; best effort. */
  withdraw(delivery: Delivery): Promise<void>
}

/** Live values of running generations. A lost value is merely not shown. */
export interface LiveBoard<T> {
  set(id: string, attempt: number, value: T): Promise<void>
  /** Concurrent reads are joined. */
  get(id: string): Promise<T | undefined>
}

/** 0 to 1; negative before it is drawn: -1 - n, where n is how many other requests the GPU server runs first. */
export type ProgressBoard = LiveBoard<number>

/** The latest preview: a WebP of some kilobytes. */
export type PreviewBoard = LiveBoard<Buffer>

/** Previews are not stored or sent more often. */
export const PREVIEWS_EVERY_MS = 1000

/** The store takes images, but not this one, which is too large. */
export class ImageTooLarge extends Error {}

/** What a store lacks that takes images all the same, as sentences for the operator. */
export interface StoreLacks {
  /** Something will fail. */
  readonly trouble?: string | undefined
  /** Easel does without it. */
  readonly missing?: string | undefined
}

export interface ImageStore {
  /**
   * Stores a PNG under its slug, with its thumbnail (a WebP) if it has one, and replaces what an earlier attempt left.
   * Resolves once both are durable and readable, to false if they were not wanted any more.
   * @throws ImageTooLarge; any other error says that no image can be stored, in a sentence for the operator
   */
  put(slug: string, png: Buffer, options?: PutOptions): Promise<boolean>
  /** Removes the image and its thumbnail. */
  remove(slug: string): Promise<void>
  /**
   * Stores an image as large as any, with its thumbnail, in the same way as a put, and removes both. Rejects if images
   * can't be stored now. What puts can do without, such as checksums, is left out of them from then on if the store
   * refuses it.
   */
  check(): Promise<StoreLacks>
  /** The permanent public URL. */
  url(slug: string): string
  thumbnailUrl(slug: string): string
}

export interface PutOptions {
  /** Called at the last moment, so that an attempt that was taken over replaces nothing. */
  readonly isWanted?: () => Promise<boolean>
  readonly thumbnail?: Buffer | undefined
  /** The attempt that drew it; who uploads through the server must say it. */
  readonly by?: Delivery | undefined
  readonly signal?: AbortSignal | undefined
}

/** The published files, for their owner. */
export interface ImageFiles {
  read(slug: string): Promise<Buffer | undefined>
  /** The same image with a text chunk that says how it was made, as other tools read it. */
  withInfotext(png: Buffer, infotext: string): Buffer
}

/** A published image in few bytes. */
export interface ViewableImage {
  readonly bytes: Buffer
  readonly mimeType: 'image/png' | 'image/webp'
  readonly scaledDown: boolean
}
