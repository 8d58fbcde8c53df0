import type { Canvas, Painting } from './canvas.js'
import { type Ramp, rampIndex } from './colour.js'
import { mix } from './noise.js'

/**
 * Covers the canvas with a ramp's colours. `value` (0 to 1) is asked once per cell of so many pixels and blended in
 * between, which is enough for whatever is soft.
 */
export function* wash(canvas: Canvas, colours: Ramp, cell: number, value: (x: number, y: number) => number): Painting {
  const { width, height, pixels } = canvas
  const columns = Math.ceil(width / cell) + 1
  const rowAt = (y: number) => Float32Array.from({ length: columns }, (_, column) => value(column * cell, y))
  let above = rowAt(0)
  for (let top = 0; top < height; top += cell) {
    const below = rowAt(top + cell)
    for (let y = top; y < Math.min(height, top + cell); y++) {
      const down = (y - top) / cell
      for (let x = 0, p = y * width * 3; x < width; x++, p += 3) {
        const column = Math.floor(x / cell)
        const across = x / cell - column
        const upper = mix(above[column] as number, above[column + 1] as number, across)
        const colour = rampIndex(mix(upper, mix(below[column] as number, below[column + 1] as number, across), down))
        pixels[p] = colours[colour] as number
        pixels[p + 1] = colours[colour + 1] as number
        pixels[p + 2] = colours[colour + 2] as number
      }
    }
    above = below
    yield
  }
}
