import { describe, expect, it } from 'vitest'
import { processingEtaMs, queuedEtaMs } from '../../src/generation/eta.js'
import type { WorkInSight } from '../../src/generation/follow-ports.js'

/** 1000 pixel-steps, at 2 ms each. */
const WORK = { filename: 'a', width: 10, height: 10, steps: 10, batchSize: 1 }
const SIGHT: WorkInSight = { pace: new Map([['a', 2]]), queued: [], running: [], backends: [null] }
const RUNNING = { filename: 'a', pixelSteps: 1000, elapsedMs: 500 }

describe('the ETA of a queued generation', () => {
  it('is what it takes itself where a backend is free', () => {
    expect(queuedEtaMs(SIGHT, WORK, 1)).toBe(2000)
    expect(queuedEtaMs({ ...SIGHT, running: [RUNNING], backends: [null, ['a']] }, WORK, 1)).toBe(2000)
  })

  it('grows with its own steps, pixels and images', () => {
    expect(queuedEtaMs(SIGHT, { ...WORK, steps: 20, width: 20, batchSize: 4 }, 1)).toBe(2000 * 16)
  })

  it('counts what is being drawn and what waits before it, shared by the backends', () => {
    const queued = [{ filename: 'a', count: 4, pixelSteps: 8000 }]
    const busy = { ...SIGHT, running: [RUNNING], queued }
    expect(queuedEtaMs(busy, WORK, 1)).toBe(1500 + 2000)
    expect(queuedEtaMs(busy, WORK, 4)).toBe(1500 + 3 * 4000 + 2000)
    expect(queuedEtaMs({ ...busy, backends: [null, null] }, WORK, 4)).toBe((1500 + 3 * 4000) / 2 + 2000)
  })

  it('is unknown where its model was never measured, or no live backend has it', () => {
    expect(queuedEtaMs(SIGHT, { ...WORK, filename: 'b' }, 1)).toBeUndefined()
    expect(queuedEtaMs({ ...SIGHT, backends: [['b']] }, WORK, 1)).toBeUndefined()
    expect(queuedEtaMs({ ...SIGHT, backends: [] }, WORK, 1)).toBeUndefined()
  })
})

describe('the ETA of a processing generation', () => {
  it('is what is left of what such take, until its own progress tells more', () => {
    expect(processingEtaMs(SIGHT, WORK, 500, 0)).toBe(1500)
    expect(processingEtaMs(SIGHT, WORK, 3000, 0)).toBe(0)
    expect(processingEtaMs(SIGHT, WORK, 3000, 0.5)).toBe(3000)
  })

  it('comes from its own progress alone where nothing else was measured', () => {
    expect(processingEtaMs(undefined, WORK, 900, 0.3)).toBeCloseTo(2100)
    expect(processingEtaMs(undefined, WORK, 900, 0)).toBeUndefined()
  })

  it('does not count the time of an attempt that was given up', () => {
    expect(processingEtaMs(SIGHT, WORK, undefined, 0.5)).toBe(1000)
  })
})
