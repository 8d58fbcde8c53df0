import { expect, it } from 'vitest'
import { waitOf } from '../../../src/http/shared/private-images.js'

it('that there is no image is told at moments that do not depend on how long the look-up took', () => {
  expect([1, 2, 90, 249].map((taken) => taken + waitOf(taken))).toEqual([250, 250, 250, 250])
  expect([251, 260, 499].map((taken) => taken + waitOf(taken))).toEqual([500, 500, 500])
})
