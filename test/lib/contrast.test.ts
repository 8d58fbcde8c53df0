import { expect, it } from 'vitest'
import { contrast, mixed } from '../../src/lib/contrast.js'

it.each([
  ['#000000', '#ffffff', 21],
  ['#ffffff', '#000000', 21],
  ['#0b5cad', '#0b5cad', 1],
  ['#767676', '#ffffff', 4.54],
  ['#777777', '#ffffff', 4.48],
  ['#ff0000', '#ffffff', 4],
])('the contrast of %s to %s is %d', (one, other, ratio) => {
  expect(contrast(one, other)).toBeCloseTo(ratio, 2)
})

it('mixes colours by their shares', () => {
  expect(mixed('#000000', 0.5, '#fffffe')).toBe('#80807f')
  expect(mixed('#0a0b0c', 1, '#ffffff')).toBe('#0a0b0c')
  expect(mixed('#ffffff', 0, '#0a0b0c')).toBe('#0a0b0c')
})
