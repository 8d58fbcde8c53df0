/** When what was out of order: an answer may be an error only if something that it needs was away meanwhile. */
export interface Windows {
  /** Begins a disturbance; the returned function ends it. */
  open(what: string, since?: number): () => void
  /** Whether one of these was disturbed at some moment of the time span, or until `graceMs` before it. */
  during(what: readonly string[], from: number, to: number, graceMs?: number): boolean
}

/** Times as Date.now() gives them. */
export function windows(now: () => number = Date.now): Windows {
  const spans = new Map<string, { from: number; to: number }[]>()
  return {
    open(what, since = now()) {
      const span = { from: since, to: Number.POSITIVE_INFINITY }
      spans.set(what, [...(spans.get(what) ?? []), span])
      return () => {
        span.to = Math.min(span.to, now())
      }
    },
    during: (what, from, to, graceMs = 0) =>
      what.some((name) => spans.get(name)?.some((span) => span.from <= to && span.to + graceMs >= from)),
  }
}
