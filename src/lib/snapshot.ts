export interface SnapshotOptions {
  /** ms that a value is used without another look; may depend on how long the look took, in ms too. */
  readonly freshMs: number | ((tookMs: number) => number)
  /** ms that it is used meanwhile once it is no longer fresh and the next look has begun. Default: not at all. */
  readonly usableMs?: number
}

/**
 * The latest value of `take`, which runs only while there are callers, one call at a time. Whoever waits for a call gets
 * its error; no error is kept.
 */
export function snapshot<T>(take: () => Promise<T>, { freshMs, usableMs = 0 }: SnapshotOptions): () => Promise<T> {
  let latest: { readonly value: T; readonly freshUntil: number; readonly usableUntil: number } | undefined
  let taking: Promise<T> | undefined
  const takeNext = async () => {
    const begun = performance.now()
    const value = await take()
    const now = performance.now()
    const freshUntil = now + (typeof freshMs === 'number' ? freshMs : freshMs(now - begun))
    latest = { value, freshUntil, usableUntil: Math.max(freshUntil, now + usableMs) }
    return value
  }
  return async () => {
    const now = performance.now()
    if (latest && now <= latest.freshUntil) return latest.value
    taking ??= takeNext().finally(() => {
      taking = undefined
    })
    if (!latest || now > latest.usableUntil) return taking
    taking.catch(() => undefined)
    return latest.value
  }
}
