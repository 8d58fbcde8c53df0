/** Locks outlive their generation's deadline by this much, so that they never end before it. */
export const LOCK_MARGIN_MS = 60_000

/** At most one active charged generation per account. Postgres's unique index is the truth; this one refuses early and cheaply. */
export interface ActiveGenerationLock {
  /**
   * Takes the lock, or names the generation that holds it. An outage counts as taken: the index guards alone.
   * Taking it again for the same generation succeeds. `wasStored`: the lock lasts longer than a submit under way has it,
   * so by then its holder had been stored.
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
   * Keeps a lock until past its generation's deadline, once that is stored; best effort. One that is no longer held stays
   * away: the generation may have ended already.
   */
  extend(lock: HeldLock & { readonly ttlMs: number }): Promise<void>
  /**
   * Keeps the locks of active generations, and sets them anew where none is held. Resolves to whether that is known to
   * have worked.
   */
  keep(locks: readonly (HeldLock & { readonly ttlMs: number })[]): Promise<boolean>
  /** Compare and delete: only the holder's id releases. */
  release(accountId: string, generationId: string): Promise<void>
  /** Every lock there is, in pages. */
  all(): AsyncIterable<readonly HeldLock[]>
}

export interface HeldLock {
  readonly accountId: string
  readonly generationId: string
}
