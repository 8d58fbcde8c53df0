import { createHash } from 'node:crypto'

export type Point = readonly [x: number, y: number]

export const repeat = (count: number, draw: (i: number) => string) =>
  Array.from({ length: Math.max(0, Math.round(count)) }, (_, i) => draw(i)).join('')

/** A drawing (in hundredths of its height, its foot at 0 0) where it stands; a negative width mirrors it. */
export const placed = (drawing: string, x: number, foot: number, width: number, height = Math.abs(width)) =>
  `<g transform="translate(${x} ${foot}) scale(${width / 100} ${height / 100})">${drawing}</g>`

export const polygon = (points: readonly Point[]) =>
  `M${points.map(([x, y]) => `${Math.round(x)} ${Math.round(y * 4) / 4}`).join('L')}Z`

export const box = (x: number, y: number, width: number, height: number) => `M${x} ${y}h${width}v${height}h${-width}z`

/** A path whose colours, #rrggbb or #rrggbbaa, change from its top to its bottom. */
export function faded(d: string, ...colours: readonly string[]): string {
  const id = colours.join('').replaceAll('#', '_')
  const stops = repeat(colours.length, (i) => `<stop offset="${i / (colours.length - 1)}" stop-color="${colours[i]}"/>`)
  return `<linearGradient id="${id}" x2="0" y2="1">${stops}</linearGradient><path d="${d}" fill="url(#${id})"/>`
}

/** Round dots of one size. */
export const dots = (count: number, size: number, colour: string, at: () => Point) =>
  `<path d="${repeat(count, () => `M${at().map(Math.round).join(' ')}h.01`)}" stroke="${colour}"
stroke-width="${size}" stroke-linecap="round"/>`

export const channelsOf = (colour: string) => [...Buffer.from(colour.slice(1), 'hex')]

/** A colour between two: 0 is the first, 1 the second, less than 0 away from it. */
export function mixed(from: string, to: string, share: number): string {
  const channels = channelsOf(from).map((channel, i) => mix(channel, channelsOf(to)[i] as number, share))
  return `#${Buffer.from(Uint8ClampedArray.from(channels)).toString('hex')}`
}

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
