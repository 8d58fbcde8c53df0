/** Ports to Redis and the queue that several steps of a generation share. */

/** A lock expires this long after its generation's deadline, so never before the generation ends. */
export const LOCK_MARGIN_MS = 60_000

/** How long a submit's lock lasts until its row is stored: longer than what a submit does with it can take. */
export const SUBMIT_LOCK_MS = 15_000

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

/** Who makes a pass over many rows that is due about once an hour. */
export interface PassLease {
  /** Whether this process makes the pass that is due. Unless it goes on within a minute, another one may. */
  begin(holder: string): Promise<boolean>
  goOn(holder: string): Promise<void>
  /** The next pass is due later; `soon`: within a minute or two. */
  end(holder: string, soon: boolean): Promise<void>
}
