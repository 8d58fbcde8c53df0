/** Waits for a condition instead of a time. */
export async function until<T>(
  look: () => Promise<T> | T,
  what = 'the condition',
  timeoutMs = 12_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen) return seen as NonNullable<T>
    if (performance.now() > end) throw new Error(`${what} did not come true within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}
