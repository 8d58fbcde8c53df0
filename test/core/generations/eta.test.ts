import { describe, expect, it } from 'vitest'
import { processingEtaMs, queuedEtaMs, type Workload } from '../../../src/core/generations/follow/eta.js'
import { paceOf } from '../../../src/core/generations/inference-pace.js'

/** 1000 pixel-steps, at 2 ms each. */
const WORK = { filename: 'a', width: 10, height: 10, steps: 10, batchSize: 1 }
const WORKLOAD: Workload = {
  pace: new Map([['a', { fixedMs: 0, msPerPixelStep: 2 }]]),
  queued: [],
  running: [],
  backends: [null],
}
const RUNNING = { filename: 'a', pixelSteps: 1000, elapsedMs: 500 }

describe('the ETA of a queued generation', () => {
  it('is the time of its own drawing if a backend is free', () => {
    expect(queuedEtaMs(WORKLOAD, WORK, 1)).toBe(2000)
    expect(queuedEtaMs({ ...WORKLOAD, running: [RUNNING], backends: [null, ['a']] }, WORK, 1)).toBe(2000)
  })

  it('grows with its own steps, pixels and images', () => {
    expect(queuedEtaMs(WORKLOAD, { ...WORK, steps: 20, width: 20, batchSize: 4 }, 1)).toBe(2000 * 16)
  })

  it('includes the part that every generation takes, whatever its work', () => {
    const workload = { ...WORKLOAD, pace: new Map([['a', { fixedMs: 500, msPerPixelStep: 2 }]]), running: [RUNNING] }
    const queued = [{ filename: 'a', count: 4, pixelSteps: 8000 }]
    expect(queuedEtaMs({ ...workload, queued }, WORK, 4)).toBe(2000 + 3 * 4500 + 2500)
  })

  it('counts what is being drawn and what waits before it, shared by the backends', () => {
    const queued = [{ filename: 'a', count: 4, pixelSteps: 8000 }]
    const busy = { ...WORKLOAD, running: [RUNNING], queued }
    expect(queuedEtaMs(busy, WORK, 1)).toBe(1500 + 2000)
    expect(queuedEtaMs(busy, WORK, 4)).toBe(1500 + 3 * 4000 + 2000)
    expect(queuedEtaMs({ ...busy, backends: [null, null] }, WORK, 4)).toBe((1500 + 3 * 4000) / 2 + 2000)
  })

  it('is unknown where its model was never measured, or no live backend has it', () => {
    expect(queuedEtaMs(WORKLOAD, { ...WORK, filename: 'b' }, 1)).toBeUndefined()
    expect(queuedEtaMs({ ...WORKLOAD, backends: [['b']] }, WORK, 1)).toBeUndefined()
    expect(queuedEtaMs({ ...WORKLOAD, backends: [] }, WORK, 1)).toBeUndefined()
  })
})

describe('the ETA of a processing generation', () => {
  const drawn = (progress?: number) => ({ progress, before: 0 })

  it('is what is left of the time that such generations take, until its own progress tells more', () => {
    expect(processingEtaMs(WORKLOAD, WORK, 500, drawn())).toBe(1500)
    expect(processingEtaMs(WORKLOAD, WORK, 500, drawn(0.5))).toBe(500)
    // Claimed three seconds ago, and not drawn for as long.
    expect(processingEtaMs(WORKLOAD, WORK, 3000, drawn(0.5))).toBe(1000)
  })

  it('is unknown once it takes longer than such generations do, and its server reports no progress', () => {
    expect(processingEtaMs(WORKLOAD, WORK, 3000, drawn())).toBeUndefined()
  })

  it('includes the requests that its server draws first, however long they have taken already', () => {
    expect(processingEtaMs(WORKLOAD, WORK, 3000, { progress: undefined, before: 2 })).toBe(3 * 2000)
    expect(processingEtaMs(undefined, WORK, 3000, { progress: undefined, before: 2 })).toBeUndefined()
  })

  it('comes from its own progress alone where nothing else was measured', () => {
    expect(processingEtaMs(undefined, WORK, 900, drawn(0.3))).toBeCloseTo(2100)
    expect(processingEtaMs(undefined, WORK, 900, drawn())).toBeUndefined()
  })

  it('does not count the time of an attempt that was given up', () => {
    expect(processingEtaMs(WORKLOAD, WORK, undefined, drawn(0.5))).toBe(1000)
  })
})

describe('the time that generations take, estimated from measured ones,', () => {
  const measured = (steps: number, ms: number) => ({ steps, pixelSteps: 100 * steps, ms })
  const expected = (samples: Parameters<typeof paceOf>[0], steps: number) => {
    const { fixedMs, msPerPixelStep } = paceOf(samples) ?? { fixedMs: Number.NaN, msPerPixelStep: 0 }
    return fixedMs + msPerPixelStep * 100 * steps
  }

  it('has a part that is always the same, and one that grows with the work', () => {
    const samples = [measured(1, 1500), measured(10, 6000), measured(30, 16_000)]
    for (const [steps, ms] of [
      [1, 1500],
      [4, 3000],
      [60, 31_000],
    ] as const)
      expect(expected(samples, steps)).toBeCloseTo(ms)
  })

  it('is not distorted by a generation that loaded its model or had to wait', () => {
    const samples = [
      measured(1, 1500),
      measured(10, 6000),
      measured(20, 11_000),
      measured(25, 90_000),
      measured(30, 16_000),
    ]
    expect(expected(samples, 20)).toBeCloseTo(11_000, -3)
  })

  it('does not grow as the steps do where only images of one step were measured', () => {
    const samples = [measured(1, 1000), measured(1, 1100), measured(1, 900)]
    expect(expected(samples, 1)).toBeCloseTo(1000)
    expect(expected(samples, 20)).toBeLessThan(5000)
    expect(expected(samples, 20)).toBeGreaterThan(1000)
  })

  it('never shrinks with the work, and is never negative', () => {
    expect(expected([measured(1, 5000), measured(30, 3000)], 60)).toBeCloseTo(4000)
    expect(expected([measured(10, 1000), measured(30, 9000)], 1)).toBeGreaterThan(0)
    expect(paceOf([])).toBeUndefined()
  })
})
