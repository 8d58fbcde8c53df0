/** Everything random in a preview: the same seed draws the same picture on every machine. */

/** 32 bits of a text (FNV-1a over its UTF-16 units, then mixed). */
export function hashOf(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5
  for (const part of parts) {
    for (const character of String(part)) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
    hash = Math.imul(hash ^ 0x1f, 0x01000193) // so that "a", "b" differs from "ab"
  }
  return mixed(hash)
}

function mixed(bits: number): number {
  let hash = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Draws from one seed, in order. */
export interface Dice {
  /** From `low` (included) to `high`. */
  between(low: number, high: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /** Other dice, which draw the same whatever is drawn from these. */
  named(name: string): Dice
  readonly seed: number
}

export function dice(seed: number): Dice {
  let drawn = 0
  // A counter through a mixing function, so that any place of the sequence is as random as the first.
  const next = () => mixed(seed + Math.imul(++drawn, 0x9e3779b9)) / 2 ** 32
  return {
    seed,
    between: (low, high) => low + (high - low) * next(),
    chance: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)] as (typeof items)[number],
    named: (name) => dice(hashOf(seed, name)),
  }
}

/** Smooth noise over the plane, about -1 to 1, with a feature per unit of length. Repeats after 256 units. */
export type Noise = (x: number, y: number) => number

/** Gradient noise (Perlin 2002). `period`, a power of two up to 256, makes it repeat earlier. */
export function noise(seed: number, period = 256): Noise {
  const draw = dice(seed)
  const mask = period - 1
  const order = new Uint8Array(512)
  const slopeX = new Float32Array(256)
  const slopeY = new Float32Array(256)
  for (let i = 0; i < 256; i++) order[i] = i
  for (let i = 255; i > 0; i--) {
    const j = Math.floor(draw.between(0, i + 1))
    const kept = order[i] as number
    order[i] = order[j] as number
    order[j] = kept
  }
  for (let i = 0; i < 256; i++) {
    order[256 + i] = order[i] as number
    slopeX[i] = Math.cos((i / 128) * Math.PI) * 1.5
    slopeY[i] = Math.sin((i / 128) * Math.PI) * 1.5
  }
  return (x, y) => {
    const floorX = Math.floor(x)
    const floorY = Math.floor(y)
    const fx = x - floorX
    const fy = y - floorY
    const left = order[floorX & mask] as number
    const right = order[(floorX + 1) & mask] as number
    const top = floorY & mask
    const bottom = (floorY + 1) & mask
    const a = order[left + top] as number
    const b = order[right + top] as number
    const c = order[left + bottom] as number
    const d = order[right + bottom] as number
    const u = fx * fx * fx * (fx * (fx * 6 - 15) + 10)
    const v = fy * fy * fy * (fy * (fy * 6 - 15) + 10)
    const above = mix(slope(a, fx, fy), slope(b, fx - 1, fy), u)
    const below = mix(slope(c, fx, fy - 1), slope(d, fx - 1, fy - 1), u)
    return mix(above, below, v)
  }
  function slope(i: number, dx: number, dy: number) {
    return (slopeX[i] as number) * dx + (slopeY[i] as number) * dy
  }
}

/** Octaves of noise, each twice as fine and `gain` times as strong as the one before; about -1 to 1. */
export function layered(of: Noise, x: number, y: number, octaves: number, gain = 0.5): number {
  let sum = 0
  let strength = 1
  let total = 0
  for (let i = 0; i < octaves; i++) {
    sum += strength * of(x, y)
    total += strength
    strength *= gain
    x = x * 2 + 17.3
    y = y * 2 + 9.1
  }
  return sum / total
}

/** Like mountains: octaves of noise folded into sharp crests; 0 to 1. */
export function ridged(of: Noise, x: number, y: number, octaves: number, gain = 0.5): number {
  let sum = 0
  let strength = 1
  let total = 0
  for (let i = 0; i < octaves; i++) {
    const crest = 1 - Math.abs(of(x, y))
    sum += strength * crest * crest
    total += strength
    strength *= gain
    x = x * 2 + 31.7
    y = y * 2 + 5.9
  }
  return sum / total
}

export const mix = (from: number, to: number, share: number) => from + (to - from) * share
export const clamp = (value: number, low = 0, high = 1) => (value < low ? low : value > high ? high : value)
/** 0 at `from`, 1 at `to` (which may be the lower one) and beyond, smooth between. */
export function rise(from: number, to: number, value: number): number {
  const t = clamp((value - from) / (to - from))
  return t * t * (3 - 2 * t)
}

/** A square of numbers that repeats without a seam: drawn once, sampled by everything that needs texture. */
export interface Tile {
  readonly size: number
  readonly values: Float32Array
}

/** Fills a tile from a function of the unit square that has to be periodic itself; pauses after each row. */
export function* tile(size: number, value: (x: number, y: number) => number): Generator<void, Tile, void> {
  const values = new Float32Array(size * size)
  for (let y = 0, i = 0; y < size; y++) {
    for (let x = 0; x < size; x++) values[i++] = value(x / size, y / size)
    yield
  }
  return { size, values }
}

/** The tile's value at a place in tile pixels, interpolated. `size` is a power of two. */
export function sample({ size, values }: Tile, x: number, y: number): number {
  const mask = size - 1
  const floorX = Math.floor(x)
  const floorY = Math.floor(y)
  const fx = x - floorX
  const fy = y - floorY
  const left = floorX & mask
  const right = (left + 1) & mask
  const top = (floorY & mask) * size
  const bottom = ((floorY + 1) & mask) * size
  const above = mix(values[top + left] as number, values[top + right] as number, fx)
  const below = mix(values[bottom + left] as number, values[bottom + right] as number, fx)
  return mix(above, below, fy)
}
