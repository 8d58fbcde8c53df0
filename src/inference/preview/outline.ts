/** A closed outline: x and y in pixels, one point after the other. Either way round. */
export type Outline = readonly number[]

/** The smallest box around all of them; empty outlines give an empty box. */
export function boundsOf(outlines: readonly Outline[]) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity }
  for (const outline of outlines)
    for (let i = 0; i < outline.length; i += 2) {
      box.left = Math.min(box.left, outline[i] as number)
      box.right = Math.max(box.right, outline[i] as number)
      box.top = Math.min(box.top, outline[i + 1] as number)
      box.bottom = Math.max(box.bottom, outline[i + 1] as number)
    }
  return box.left <= box.right ? box : { left: 0, top: 0, right: 0, bottom: 0 }
}

/** Above 0 when the outline runs clockwise on the screen. */
export function signedArea(outline: Outline): number {
  let area = 0
  for (let i = 0; i < outline.length; i += 2) {
    const j = (i + 2) % outline.length
    area += (outline[i] as number) * (outline[j + 1] as number) - (outline[j] as number) * (outline[i + 1] as number)
  }
  return area
}

/** Heights, one per column, in pixels from the top: the upper edge of land or waves. */
export function edge(width: number, heightAt: (x: number) => number): Float32Array {
  const heights = new Float32Array(width)
  for (let x = 0; x < width; x++) heights[x] = heightAt(x)
  return heights
}

export const highest = (heights: Float32Array) => heights.reduce((least, y) => Math.min(least, y))

/** The area below a line of heights, one per column, down to `bottom`. */
export function below(heights: Float32Array, bottom: number): Outline {
  const outline: number[] = [heights.length, bottom, 0, bottom, 0, heights[0] as number]
  for (let x = 0; x < heights.length; x++) outline.push(x + 0.5, heights[x] as number)
  outline.push(heights.length, heights[heights.length - 1] as number)
  return outline
}

export function ellipse(x: number, y: number, radiusX: number, radiusY = radiusX, tilt = 0): Outline {
  const corners = Math.max(12, Math.min(96, Math.ceil(Math.max(radiusX, radiusY) * 2)))
  return oval(x, y, radiusX, radiusY, corners, tilt)
}

/** An ellipse in units other than pixels needs to be told how round it is. */
export function oval(x: number, y: number, radiusX: number, radiusY: number, corners: number, tilt = 0): Outline {
  const [cos, sin] = [Math.cos(tilt), Math.sin(tilt)]
  return Array.from({ length: corners }, (_, i) => {
    const angle = (i / corners) * 2 * Math.PI
    const [dx, dy] = [radiusX * Math.cos(angle), radiusY * Math.sin(angle)]
    return [x + dx * cos - dy * sin, y + dx * sin + dy * cos]
  }).flat()
}

export const rectangle = (x: number, y: number, width: number, height: number): Outline => [
  x,
  y,
  x + width,
  y,
  x + width,
  y + height,
  x,
  y + height,
]

/** A closed curve through the points (Catmull-Rom). */
export function curve(points: Outline, between = 8): Outline {
  const count = points.length / 2
  const at = (i: number, axis: number) => points[((i + count) % count) * 2 + axis] as number
  const outline: number[] = []
  for (let i = 0; i < count; i++)
    for (let step = 0; step < between; step++) {
      const t = step / between
      for (const axis of [0, 1]) {
        const [a, b, c, d] = [at(i - 1, axis), at(i, axis), at(i + 1, axis), at(i + 2, axis)]
        outline.push(b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a))))
      }
    }
  return outline
}

/** Outlines drawn in units of their own, put at a place: x to the right, y up from the base. */
export const placed = (outlines: readonly Outline[], x: number, base: number, unit: number, flip = 1): Outline[] =>
  outlines.map((outline) => outline.map((value, i) => (i % 2 === 0 ? x + value * unit * flip : base - value * unit)))
