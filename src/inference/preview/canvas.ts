import type { Ramp, Rgb } from './colour.js'
import { rampIndex } from './colour.js'
import { clamp, mix } from './noise.js'
import { boundsOf, type Outline, signedArea } from './outline.js'

/** RGB triples row by row, sRGB as stored, 0 to 1; painters may go beyond, the last pass clips. */
export interface Canvas {
  readonly width: number
  readonly height: number
  readonly pixels: Float32Array
}

/** Painting that pauses after each row or so, so that the process can do other things in between. */
export type Painting = Generator<void, void, void>

/** How much of each pixel of a rectangle lies within some outlines, 0 to 1. */
export interface Coverage {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  readonly values: Float32Array
  /** From one row of `values` to the next. */
  readonly stride: number
}

export const blankCanvas = (width: number, height: number): Canvas => ({
  width,
  height,
  pixels: new Float32Array(width * height * 3),
})

/**
 * The exact area of each pixel within the union of the outlines (an outline must not cross itself). Each edge adds
 * what it covers to its right as a difference; a running sum along each row then gives the area.
 */
export function coverage({ width, height }: Canvas, outlines: readonly Outline[]): Coverage {
  const box = boundsOf(outlines)
  const left = clamp(Math.floor(box.left), 0, width)
  const top = clamp(Math.floor(box.top), 0, height)
  const across = clamp(Math.ceil(box.right), left, width) - left
  const down = clamp(Math.ceil(box.bottom), top, height) - top
  const stride = across + 2
  // Differences first, then in their place the sums.
  const values = new Float32Array(stride * down)
  for (const outline of outlines) {
    const turn = signedArea(outline) < 0 ? -1 : 1
    for (let i = 0; i < outline.length; i += 2) {
      const j = (i + 2) % outline.length
      addEdge(outline[i] as number, outline[i + 1] as number, outline[j] as number, outline[j + 1] as number, turn)
    }
  }
  for (let y = 0, i = 0; y < down; y++, i += 2) {
    let sum = 0
    for (let x = 0; x < across; x++, i++) {
      sum += values[i] as number
      values[i] = Math.min(1, Math.abs(sum))
    }
  }
  return { left, top, width: across, height: down, values, stride }

  function addEdge(x0: number, y0: number, x1: number, y1: number, turn: number) {
    if (y0 === y1) return
    const [fromX, fromY, toX, toY, sign] = y0 < y1 ? [x0, y0, x1, y1, turn] : [x1, y1, x0, y0, -turn]
    const lean = (toX - fromX) / (toY - fromY)
    for (let y = Math.max(top, Math.floor(fromY)); y < Math.min(top + down, toY); y++) {
      const upper = Math.max(y, fromY)
      const lower = Math.min(y + 1, toY)
      const a = clamp(fromX + (upper - fromY) * lean - left, 0, across)
      const b = clamp(fromX + (lower - fromY) * lean - left, 0, across)
      addRow((y - top) * stride, Math.min(a, b), Math.max(a, b), (lower - upper) * sign)
    }
  }
  /** One edge within one row: its height is shared among the cells it passes, by the width it has in each. */
  function addRow(row: number, from: number, to: number, height: number) {
    const upright = to - from < 1e-6
    const last = Math.floor(upright ? from : to)
    for (let cell = Math.floor(from); cell <= last; cell++) {
      const enters = Math.max(from, cell)
      const leaves = Math.min(to, cell + 1)
      const share = upright ? height : (height * (leaves - enters)) / (to - from)
      const right = share * ((enters + leaves) / 2 - cell)
      values[row + cell] = (values[row + cell] as number) + share - right
      values[row + cell + 1] = (values[row + cell + 1] as number) + right
    }
  }
}

/** Colours from `top` (the ramp's start) to `bottom`, in pixels of the canvas. */
export interface Fall {
  readonly ramp: Ramp
  readonly top: number
  readonly bottom: number
}

/** Paints outlines in one colour. */
export function fill(canvas: Canvas, outlines: readonly Outline[], [red, green, blue]: Rgb, opacity = 1) {
  const { left, top, width, height, values, stride } = coverage(canvas, outlines)
  const { pixels } = canvas
  for (let y = 0; y < height; y++) {
    let i = y * stride
    let p = ((top + y) * canvas.width + left) * 3
    for (let x = 0; x < width; x++, i++, p += 3) {
      const share = (values[i] as number) * opacity
      if (share === 0) continue
      pixels[p] = mix(pixels[p] as number, red, share)
      pixels[p + 1] = mix(pixels[p + 1] as number, green, share)
      pixels[p + 2] = mix(pixels[p + 2] as number, blue, share)
    }
  }
}

/** Paints a coverage with colours that fall from top to bottom. `relief` lightens (above 0) or darkens each pixel. */
export function* fillFalling(
  canvas: Canvas,
  { left, top, width, height, values, stride }: Coverage,
  fall: Fall,
  relief?: (x: number, y: number) => number,
): Painting {
  const { pixels } = canvas
  for (let y = top; y < top + height; y++) {
    let i = (y - top) * stride
    const colour = rampIndex((y - fall.top) / (fall.bottom - fall.top))
    const red = fall.ramp[colour] as number
    const green = fall.ramp[colour + 1] as number
    const blue = fall.ramp[colour + 2] as number
    let p = (y * canvas.width + left) * 3
    for (let x = left; x < left + width; x++, i++, p += 3) {
      const share = values[i] as number
      if (share === 0) continue
      const light = relief ? relief(x, y) : 0
      pixels[p] = mix(pixels[p] as number, red + light, share)
      pixels[p + 1] = mix(pixels[p + 1] as number, green + light, share)
      pixels[p + 2] = mix(pixels[p + 2] as number, blue + light, share)
    }
    yield
  }
}

/** Light that spreads from a point: brightens without ever burning out. */
export function glow(canvas: Canvas, x: number, y: number, radius: number, [red, green, blue]: Rgb, strength = 1) {
  const { width, height, pixels } = canvas
  const bottom = Math.min(height, Math.ceil(y + radius))
  const right = Math.min(width, Math.ceil(x + radius))
  for (let row = Math.max(0, Math.floor(y - radius)); row < bottom; row++) {
    for (let column = Math.max(0, Math.floor(x - radius)); column < right; column++) {
      const distance = ((column + 0.5 - x) ** 2 + (row + 0.5 - y) ** 2) / (radius * radius)
      if (distance >= 1) continue
      const light = strength * (1 - distance) ** 2 * (1 / (1 + 12 * distance))
      screen(pixels, (row * width + column) * 3, red * light, green * light, blue * light)
    }
  }
}

/** Adds light to one pixel as two slide projectors would. */
export function screen(pixels: Float32Array, p: number, red: number, green: number, blue: number) {
  pixels[p] = 1 - (1 - (pixels[p] as number)) * (1 - red)
  pixels[p + 1] = 1 - (1 - (pixels[p + 1] as number)) * (1 - green)
  pixels[p + 2] = 1 - (1 - (pixels[p + 2] as number)) * (1 - blue)
}
