/** Chance that can be repeated: the same seed draws the same numbers. */
export interface Seeded {
  /** From 0 to 1, without 1. */
  next(): number
  between(low: number, high: number): number
  /** From 0 to n - 1. */
  below(n: number): number
  chance(probability: number): boolean
  pick<T>(from: readonly T[]): T
  /** A pause of a Poisson process, its mean given. */
  gap(mean: number): number
  /** A generator of its own, so that what one part draws does not shift what another one does. */
  fork(name: string): Seeded
}

export function seeded(seed: string | number): Seeded {
  let state = hash(String(seed))
  // Mulberry32.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (n: number) => Math.floor(next() * n)
  return {
    next,
    below,
    between: (low, high) => low + next() * (high - low),
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => from[below(from.length)] as T,
    gap: (mean) => -Math.log(1 - next()) * mean,
    fork: (name) => seeded(`${seed}/${name}`),
  }
}

/** FNV-1a with a final mix. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (const char of text) h = Math.imul(h ^ char.charCodeAt(0), 0x01000193)
  h ^= h >>> 16
  h = Math.imul(h, 0x85ebca6b)
  return h ^ (h >>> 13)
}
