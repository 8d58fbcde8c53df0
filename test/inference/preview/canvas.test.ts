import { describe, expect, it } from 'vitest'
import { blankCanvas, coverage, fill } from '../../../src/inference/preview/canvas.js'
import { curve, ellipse, type Outline, rectangle } from '../../../src/inference/preview/outline.js'

const canvas = blankCanvas(40, 30)

const area = (...outlines: Outline[]) => {
  const { values, stride, width, height } = coverage(canvas, outlines)
  let sum = 0
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) sum += values[y * stride + x] as number
  return sum
}

describe('coverage', () => {
  it.each<[string, Outline, number]>([
    ['a rectangle on pixel edges', rectangle(3, 4, 10, 5), 50],
    ['a rectangle between pixel edges', rectangle(3.25, 4.5, 10.1, 5.3), 53.53],
    ['a rectangle within one pixel', rectangle(7.2, 7.3, 0.5, 0.4), 0.2],
    ['a triangle', [2, 2, 33, 5, 9, 27], 377],
    ['a steep sliver', [5, 1, 5.8, 28, 4.9, 28], 12.15],
    ['a triangle the other way round', [9, 27, 33, 5, 2, 2], 377],
    ['what lies right and below of the canvas is cut off', rectangle(30, 20, 100, 100), 100],
    ['what lies left and above of the canvas is cut off', rectangle(-50, -50, 60, 55), 50],
    ['the whole canvas', rectangle(-5, -5, 100, 100), 1200],
    ['what lies outside', rectangle(50, 5, 10, 10), 0],
  ])('is exact for %s', (_, outline, expected) => {
    expect(area(outline)).toBeCloseTo(expected, 2)
  })

  it('counts what two outlines share once, whichever way round they are', () => {
    expect(area(rectangle(2, 2, 10, 10), [6, 16, 16, 16, 16, 6, 6, 6])).toBeCloseTo(100 + 100 - 36, 3)
  })

  it('rounds circles and curves', () => {
    const disc = area(ellipse(20, 15, 10)) / (Math.PI * 100)
    expect(disc).toBeGreaterThan(0.98)
    expect(disc).toBeLessThan(1)
    expect(area(curve([10, 5, 30, 5, 30, 25, 10, 25]))).toBeGreaterThan(400)
  })

  it('paints nothing outside of the outlines', () => {
    const { pixels } = canvas
    fill(canvas, [rectangle(10, 10, 1, 1)], [1, 0.5, 0.25])
    const painted = [...pixels.keys()].filter((i) => pixels[i] !== 0)
    expect(painted).toEqual([0, 1, 2].map((channel) => (10 * 40 + 10) * 3 + channel))
    expect([...pixels.subarray(painted[0], (painted[0] as number) + 3)]).toEqual([1, 0.5, 0.25])
  })
})
