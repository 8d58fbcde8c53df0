/** A lock ends this long after its generation's deadline, so that it never ends before the generation. */
export const LOCK_MARGIN_MS = 60_000

/** At most one active charged generation per account. Postgres's unique index is the truth; this one refuses early and cheaply. */
export interface ActiveGenerationLock {
  /**
   * Takes the lock, or names the generation that holds it. During an outage of Redis it counts as taken: the index guards
   * alone. Taking it again for the same generation succeeds. `wasStored`: the lock was extended, so its holder was stored.
   */
  acquire(
    accountId: string,
    generationId: string,
  ): Promise<
    { readonly acquired: true } | { readonly acquired: false; readonly holder: string; readonly wasStored: boolean }
  >
  /** Takes the lock over from a holder that is known to have ended. */
  replace(accountId: string, holder: string, generationId: string): Promise<boolean>
  /**
   * Extends the lock of a generation that is stored until past its deadline; best effort. One that is no longer held is not
   * set anew: the generation may have ended.
   */
  extend(lock: HeldLock & { readonly ttlMs: number }): Promise<void>
  /**
   * Extends the locks of active generations, and sets them anew where none is held. Resolves to whether that is known to
   * have worked.
   */
  keep(locks: readonly (HeldLock & { readonly ttlMs: number })[]): Promise<boolean>
  /** Deletes the lock if this generation holds it. */
  release(accountId: string, generationId: string): Promise<void>
  /** Every lock there is, in pages. */
  all(): AsyncIterable<readonly HeldLock[]>
}

export interface HeldLock {
  readonly accountId: string
  readonly generationId: string
}
