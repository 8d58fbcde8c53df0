type Truthy<T> = Exclude<T, null | undefined | false | 0 | ''>

/** Waits for a condition instead of a time. */
export async function until<T>(
  look: () => Promise<T> | T,
  what = 'the condition',
  timeoutMs = 60_000,
): Promise<Truthy<T>> {
  const begun = performance.now()
  for (;;) {
    const seen = await look()
    if (seen) return seen as Truthy<T>
    const waited = performance.now() - begun
    if (waited > timeoutMs) throw new Error(`${what} did not come true within ${timeoutMs} ms`)
    // The longer it takes the more seldom: what looks all the time takes the machine from what it waits for.
    await new Promise((resolve) => setTimeout(resolve, Math.min(50, Math.max(5, waited / 10))))
  }
}

/** What comes of the work, unless it takes longer: work that never ends fails its test with a sentence. */
export async function within<T>(ms: number, work: Promise<T>, what = 'the work'): Promise<T> {
  let late: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`${what} did not end within ${ms} ms`)), ms)
  })
  return Promise.race([work, tooLate]).finally(() => clearTimeout(late))
}
