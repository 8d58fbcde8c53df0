type Truthy<T> = Exclude<T, null | undefined | false | 0 | ''>

/** Waits for a condition instead of a time. */
export async function until<T>(
  look: () => Promise<T> | T,
  what = 'the condition',
  timeoutMs = 60_000,
): Promise<Truthy<T>> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen) return seen as Truthy<T>
    if (performance.now() > end) throw new Error(`${what} did not come true within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 15))
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
