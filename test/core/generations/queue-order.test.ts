import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CREATE_IMAGE_RUN, queuePosition } from '../../../src/core/generations/queue-order.js'
import { seedOf } from '../../support/effort.js'

const SEED = seedOf(42)

/** Plays the claim's rule out, start by start. */
function order(personal: number, createImage: number, streak: number): string[] {
  const started: string[] = []
  let [p, c, run] = [0, 0, streak]
  while (p < personal || c < createImage) {
    const create = c < createImage && (run < CREATE_IMAGE_RUN || p >= personal)
    if (create) {
      started.push(`create_image ${++c}`)
      run = Math.min(run + 1, CREATE_IMAGE_RUN)
    } else {
      started.push(`personal ${++p}`)
      run = 0
    }
  }
  return started
}

describe('the place in the queue', () => {
  it(`is the place at which the claims would start the generation, for every queue (seed ${SEED})`, () => {
    const waits = fc.integer({ min: 0, max: 40 })
    fc.assert(
      fc.property(waits, waits, fc.integer({ min: 0, max: CREATE_IMAGE_RUN }), (personal, createImage, streak) => {
        const depths = { streak, waiting: { personal, create_image: createImage } }
        for (const [i, started] of order(personal, createImage, streak).entries()) {
          const [lane, rank] = started.split(' ') as ['personal' | 'create_image', string]
          expect(queuePosition(lane, Number(rank), depths)).toBe(i + 1)
        }
      }),
      { seed: SEED, numRuns: 300 },
    )
  })
})
