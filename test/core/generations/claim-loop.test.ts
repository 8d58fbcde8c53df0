import { setImmediate as settled } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inferencePace } from '../../../src/core/generations/inference-pace.js'
import { claimLoop } from '../../../src/core/generations/run/claim-loop.js'
import { faultAttribution } from '../../../src/core/generations/run/fault-attribution.js'
import { type GpuSlot, gpuSlot } from '../../../src/core/generations/run/gpu-slot.js'
import type {
  Affinity,
  Claimant,
  ClaimedGeneration,
  ServedCapabilities,
} from '../../../src/core/generations/run/ports.js'
import { noLog } from '../../support/fake-ports.js'
import { aGeneration } from '../../support/givens.js'

const SERVES: ServedCapabilities = { models: ['a'], samplers: ['euler'], maxSeed: 1, sizeMultiple: 8 }
const WORKER = { worker: 'w', backend: 'fake' }

const claimed = (): ClaimedGeneration => ({
  ...aGeneration({ id: 'u', username: 'u', key: 'k', keyId: 'k', developer: false }),
  attempt: 1,
  tries: 0,
})

/** A loop whose queue is an array. Each attempt is begun as it is claimed; its GPU is used when `slots` is told so. */
function given({ affinityMaxDelayMs = 0 } = {}) {
  const outside = {
    queue: [] as ClaimedGeneration[],
    isUp: true,
    loaded: undefined as string | undefined,
    /** What each claim waits for; it rejects for a Postgres that is down. */
    beforeClaim: async () => undefined as unknown,
    room: Promise.resolve(),
  }
  const claims: { readonly by: Claimant; readonly affinity: Affinity | undefined }[] = []
  const slots: GpuSlot[] = []
  const free: boolean[] = []
  /** Whether the GPU was drawing when each was begun. */
  const behind: boolean[] = []
  const warnings: string[] = []
  const attribution = faultAttribution()
  const pace = inferencePace()
  const loop = claimLoop(
    {
      runs: {
        claim: async (by, _serves, affinity) => {
          claims.push({ by, affinity })
          await outside.beforeClaim()
          const at = outside.queue.findIndex(({ id }) => !by.except?.includes(id))
          return at < 0 ? undefined : outside.queue.splice(at, 1)[0]
        },
      },
      health: { isUp: () => outside.isUp, serves: () => SERVES, loaded: () => outside.loaded },
      attribution,
      attempts: {
        begin: (_generation, gpuFree, isDrawing = false) => {
          const n = slots.length
          behind.push(isDrawing)
          free[n] = false
          void gpuFree.then(() => (free[n] = true))
          const slot = gpuSlot(gpuFree, undefined, pace, { begun: () => undefined, waits: () => undefined })
          slots.push(slot)
          return slot
        },
        roomForAnother: () => outside.room,
      },
      pace,
      log: { ...noLog, warn: (_facts, sentence) => void warnings.push(sentence) },
    },
    WORKER,
    affinityMaxDelayMs,
  )
  return { outside, loop, claims, slots, free, behind, attribution, warnings }
}

const nearItsEnd = (slot: GpuSlot | undefined) => {
  slot?.begun()
  slot?.progressed(0.9)
}

it('claims the next one when the GPU is almost free, and gives it the GPU when that is free', async () => {
  const { outside, loop, slots, free, behind } = given()
  outside.queue.push(claimed(), claimed(), claimed())
  const served = loop.serve()
  await settled()
  expect(free).toEqual([true])
  nearItsEnd(slots[0])
  await settled()
  expect(free).toEqual([true, false])
  slots[0]?.over()
  await settled()
  expect(free).toEqual([true, true])
  for (const n of [1, 2]) {
    slots[n]?.over()
    await settled()
  }
  expect(await served).toBe(true)
  expect(free).toEqual([true, true, true])
  expect(behind).toEqual([false, true, false])
})

it('claims no further one until there is room for its images', async () => {
  const { outside, loop, slots } = given()
  outside.queue.push(claimed(), claimed())
  let makeRoom: (() => void) | undefined
  outside.room = new Promise((resolve) => {
    makeRoom = resolve
  })
  void loop.serve()
  await settled()
  slots[0]?.over()
  await settled()
  expect(slots).toHaveLength(1)
  makeRoom?.()
  await settled()
  expect(slots).toHaveLength(2)
})

it('claims once more when the GPU is free, before it is idle', async () => {
  const { outside, loop, slots } = given()
  outside.queue.push(claimed())
  const served = loop.serve()
  await settled()
  nearItsEnd(slots[0])
  await settled() // nothing is claimable now
  outside.queue.push(claimed())
  slots[0]?.over()
  await settled()
  expect(slots).toHaveLength(2)
  expect(loop.isServing()).toBe(true)
  slots[1]?.over()
  expect(await served).toBe(true)
  expect(loop.isServing()).toBe(false)
})

it('claims again if it was asked to while a claim found nothing', async () => {
  const { outside, loop, claims, slots } = given()
  const answers: (() => void)[] = []
  outside.beforeClaim = () => new Promise((resolve) => answers.push(() => resolve(undefined)))
  const served = loop.serve()
  await settled()
  expect(await loop.serve()).toBe(false)
  answers[0]?.()
  await settled()
  outside.queue.push(claimed())
  outside.beforeClaim = async () => undefined
  answers[1]?.()
  await settled()
  expect([claims.length, slots.length]).toEqual([2, 1])
  slots[0]?.over()
  expect(await served).toBe(true)
})

it('claims nothing for a backend that is down, and does when it is asked again after that', async () => {
  const { outside, loop, claims } = given()
  outside.isUp = false
  expect(await loop.serve()).toBe(false)
  expect(claims).toEqual([])
  outside.isUp = true
  expect(await loop.serve()).toBe(false)
  expect(claims).toHaveLength(1)
})

it('claims no more once the backend has gone down', async () => {
  const { outside, loop, slots, claims } = given()
  outside.queue.push(claimed(), claimed())
  const served = loop.serve()
  await settled()
  outside.isUp = false
  slots[0]?.ended()
  expect(await served).toBe(true)
  expect(claims).toHaveLength(1)
})

it('while it drains, claims nothing and waits for the claim that is under way and for what it brings', async () => {
  const { outside, loop, slots, claims } = given()
  outside.queue.push(claimed(), claimed())
  let answer: (() => void) | undefined
  outside.beforeClaim = () => new Promise<void>((resolve) => (answer = resolve))
  void loop.serve()
  let isDrained = false
  const drained = loop.drain().then(() => (isDrained = true))
  answer?.()
  await settled()
  expect([slots.length, isDrained]).toEqual([1, false])
  slots[0]?.over()
  await drained
  expect(await loop.serve()).toBe(false)
  expect([slots.length, claims.length]).toEqual([1, 1])
})

it('is idle after a claim that failed, says so, and claims again when it is asked to', async () => {
  const { outside, loop, slots, warnings } = given()
  outside.queue.push(claimed())
  outside.beforeClaim = () => Promise.reject(new Error('Connection terminated'))
  expect(await loop.serve()).toBe(false)
  expect(warnings).toEqual(['claim failed'])
  outside.beforeClaim = async () => undefined
  void loop.serve()
  await settled()
  expect(slots).toHaveLength(1)
})

it('takes what its server has dropped only when nothing else waits', async () => {
  const { outside, loop, slots, claims, attribution } = given()
  const [dropped, other] = [claimed(), claimed()]
  attribution.noteDrop(dropped.id)
  outside.queue.push(dropped, other)
  void loop.serve()
  await settled()
  expect(outside.queue).toEqual([dropped])
  slots[0]?.over()
  await settled()
  expect(outside.queue).toEqual([])
  slots[1]?.over()
  await settled()
  // Then it is one like any other.
  expect(claims.map(({ by }) => by.except)).toEqual([[dropped.id], [dropped.id], undefined, [], []])
})

it('prefers the loaded model only where others may be passed over', async () => {
  const [kind, strict] = [given({ affinityMaxDelayMs: 1000 }), given()]
  for (const { outside, loop } of [kind, strict]) {
    await loop.serve()
    outside.loaded = 'a'
    await loop.serve()
  }
  const preferred = { filename: 'a', maxDelayMs: 1000, msPerPixelStep: 0 }
  expect(kind.claims.map(({ affinity }) => affinity)).toEqual([undefined, preferred])
  expect(strict.claims.map(({ affinity }) => affinity)).toEqual([undefined, undefined])
})

it('tells the claim that its server fails', async () => {
  const { loop, claims, attribution } = given()
  await loop.serve()
  attribution.noteFailure()
  await loop.serve()
  expect(claims.map(({ by }) => by)).toEqual([
    { ...WORKER, failing: false, yields: false, except: [] },
    { ...WORKER, failing: true, yields: true, except: [] },
  ])
})
