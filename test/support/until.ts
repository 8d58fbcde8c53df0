type Truthy<T> = Exclude<T, null | undefined | false | 0 | ''>

/** Waits for a condition instead of a time. */
export async function until<T>(
  look: () => Promise<T> | T,
  what = 'the condition',
  timeoutMs = 30_000,
): Promise<Truthy<T>> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen) return seen as Truthy<T>
    if (performance.now() > end) throw new Error(`${what} did not come true within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}
