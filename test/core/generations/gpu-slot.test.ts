import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Work } from '../../../src/core/generations/generation.js'
import { inferencePace } from '../../../src/core/generations/inference-pace.js'
import { gpuSlot } from '../../../src/core/generations/run/gpu-slot.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const WORK: Work = { width: 64, height: 64, steps: 10, batchSize: 1 }

/** A slot whose GPU is free at once, and what it has said. `pace` expects so many ms of WORK. */
function given({
  expectedMs = 0,
  loadsModel = false,
  granted = Promise.resolve(),
  after = undefined as Promise<void> | undefined,
} = {}) {
  const pace = inferencePace()
  if (expectedMs > 0) pace.note(WORK, expectedMs)
  const said: string[] = []
  const notify = { begun: () => void said.push('begun'), waits: () => void said.push('waits') }
  const slot = gpuSlot(granted, loadsModel ? undefined : WORK, pace, notify, after)
  void slot.almostDone.then(() => said.push('almost done'))
  void slot.done.then(() => said.push('done'))
  return { slot, said, pace }
}

const passes = (ms: number) => vi.advanceTimersByTimeAsync(ms)

it('is almost done half a second before its expected end, and done when everything is drawn', async () => {
  const { slot, said } = given({ expectedMs: 2000 })
  slot.begun()
  await passes(1499)
  expect(said).toEqual(['begun'])
  await passes(1)
  expect(said).toEqual(['begun', 'almost done'])
  slot.over()
  await passes(0)
  expect(said).toEqual(['begun', 'almost done', 'done'])
})

it('believes the progress rather than the expected time', async () => {
  const { slot, said } = given({ expectedMs: 2000 })
  slot.begun()
  await passes(1000)
  slot.progressed(0.1) // nine seconds are left
  await passes(8499)
  expect(said).toEqual(['begun'])
  await passes(1)
  expect(said).toEqual(['begun', 'almost done'])
})

it.each([
  ['before anything was drawn', {}],
  ['while a model is loaded', { expectedMs: 1000, loadsModel: true }],
])('is not almost done before it is done if its time is unknown: %s', async (_when, known) => {
  const { slot, said } = given(known)
  slot.begun()
  await passes(3_600_000)
  expect(said).toEqual(['begun'])
  slot.over()
  await passes(0)
  expect(said).toEqual(['begun', 'almost done', 'done'])
})

it('estimates nothing while its server draws for others, and anew when it draws again', async () => {
  const { slot, said } = given({ expectedMs: 2000 })
  slot.begun()
  slot.waits()
  await passes(3_600_000)
  slot.progressed(1) // of another client's image, for all we know
  await passes(0)
  expect(said).toEqual(['begun', 'waits'])
  slot.begun()
  await passes(1500)
  expect(said).toEqual(['begun', 'waits', 'begun', 'almost done'])
})

it('is done when its attempt has ended without an image, of which the pace learns nothing', async () => {
  const { slot, said, pace } = given()
  slot.begun()
  await passes(1000)
  slot.ended()
  await passes(0)
  expect(said).toEqual(['begun', 'almost done', 'done'])
  expect(pace.expectedMs(WORK)).toBeUndefined()
})

it('tells the pace how long the server drew, without the wait for others', async () => {
  const { slot, pace } = given()
  slot.begun()
  slot.waits()
  await passes(10_000)
  slot.begun()
  await passes(3000)
  slot.over()
  await passes(1000)
  slot.begun() // late news
  slot.over() // once more, with the answer
  slot.ended()
  expect(pace.expectedMs(WORK)).toBeCloseTo(3000)
})

it.each([
  ['in the worker', (done: Promise<void>) => ({ granted: done })],
  ['in the server', (done: Promise<void>) => ({ after: done })],
])(
  'if it ended while it waited %s, is done only when the attempt before it has left the GPU',
  async (_where, behind) => {
    const before = given()
    const { slot, said } = given(behind(before.slot.done))
    before.slot.begun()
    slot.ended()
    await passes(0)
    expect(said).toEqual([])
    before.slot.over()
    await passes(0)
    expect(said).toEqual(['almost done', 'done'])
  },
)

it('is done, too, if its turn will never come', async () => {
  const { slot, said } = given({ granted: Promise.reject(new Error('the backend is down')) })
  slot.ended()
  await passes(0)
  expect(said).toEqual(['almost done', 'done'])
})
