import { createHash } from 'node:crypto'

/** Draws numbers that depend on these parts alone, on every machine. */
export function dice(...parts: readonly (string | number)[]) {
  let state = createHash('sha256').update(JSON.stringify(parts)).digest().readUInt32LE()
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  return {
    between: (low: number, high: number) => mix(low, high, next()),
    pick: <T>(items: readonly T[]) => items[Math.floor(next() * items.length)] as T,
  }
}

/** Noise along a line, about -1 to 1, with a feature per unit; each octave is twice as fine as the one before. */
export function noiseLine(draw: ReturnType<typeof dice>, octaves: number, form: 'angular' | 'round') {
  const heights = Array.from({ length: 64 }, () => draw.between(-1, 1))
  const at = (x: number) => {
    const [i, t] = [Math.floor(x), x - Math.floor(x)]
    const share = form === 'round' ? t * t * (3 - 2 * t) : t
    return mix(heights[i & 63] as number, heights[(i + 1) & 63] as number, share)
  }
  const strengths = Array.from({ length: octaves }, (_, i) => 0.45 ** i)
  return (x: number) => strengths.reduce((sum, strength, i) => sum + strength * at((x + 17.3) * 2 ** i), 0)
}

export const mix = (from: number, to: number, share: number) => from + (to - from) * share
