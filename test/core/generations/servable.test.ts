import { expect, it } from 'vitest'
import {
  type AnnouncedBackend,
  type KindOfWork,
  type Lacking,
  unmetNeeds,
  unservable,
} from '../../../src/core/generations/servable.js'

/** Up for an hour; it can do all of `KIND`. */
const B: AnnouncedBackend = {
  up: true,
  paused: false,
  models: ['m'],
  samplers: ['euler_a'],
  maxSeed: 4294967295,
  sizeMultiple: 8,
  maxCfgScale: null,
  seenMsAgo: 0,
  changedMsAgo: 3_600_000,
}
const KIND: KindOfWork & { waitedMs: number } = { filename: 'm', sampler: 'euler_a', needs: 0, waitedMs: 3_600_000 }
const OTHER = { models: ['other'] }
const NO_SAMPLER = { samplers: ['heun'] }
const DOWN = { up: false }
const SEED = 1
const [OF_8, OF_16] = [2 + 4, 4]
const CFG = 8

const CASES: [
  why: string,
  backends: Partial<AnnouncedBackend>[],
  kind: Partial<typeof KIND>,
  expected: Lacking | undefined,
][] = [
  ['one can', [{}], {}, undefined],
  ['nobody has ever announced a backend', [], {}, undefined],
  ['one of two can', [OTHER, {}], {}, undefined],
  ['all list other models', [OTHER, OTHER], {}, 'model'],
  ['it lists no models', [{ models: [] }], {}, 'model'],
  ['it draws any model', [{ models: null }], {}, undefined],
  ['one that is down may have any model', [OTHER, { ...OTHER, ...DOWN }], {}, undefined],
  ['one that is down has refused from the start', [OTHER, { models: [], ...DOWN }], {}, 'model'],
  ['only such a one is there', [{ models: [], ...DOWN }], {}, 'model'],
  ['it has waited for a model for just a minute', [OTHER], { waitedMs: 60_000 }, undefined],
  ['it has waited for a model for longer', [OTHER], { waitedMs: 60_001 }, 'model'],
  ['no backend is alive', [{ ...OTHER, seenMsAgo: 15_000 }], {}, undefined],
  ['one is just alive', [{ ...OTHER, seenMsAgo: 14_999 }], {}, 'model'],
  ['an able one was seen within a minute', [OTHER, { seenMsAgo: 59_999 }], {}, undefined],
  ['an able one was last seen a minute ago', [OTHER, { seenMsAgo: 60_000 }], {}, 'model'],
  ['an able one is paused', [OTHER, { seenMsAgo: 3_600_000, paused: true }], {}, undefined],
  ['an unable one is paused', [{ ...OTHER, paused: true }], {}, 'model'],
  ['an unable one has just changed', [{ ...OTHER, changedMsAgo: 59_999 }], {}, undefined],
  ['it changed a minute ago', [{ ...OTHER, changedMsAgo: 60_000 }], {}, 'model'],
  ['one changed that was gone a minute ago', [OTHER, { seenMsAgo: 60_000, changedMsAgo: 0 }], {}, 'model'],
  ['none has the sampler', [NO_SAMPLER], {}, 'sampler'],
  ['none has the sampler, at once', [NO_SAMPLER], { waitedMs: 0 }, 'sampler'],
  ['none draws with any sampler', [{ samplers: [] }], {}, 'sampler'],
  ['only one without the model has the sampler', [NO_SAMPLER, OTHER], {}, 'sampler'],
  ['another one has the sampler', [NO_SAMPLER, {}], {}, undefined],
  ['one that is down may have the sampler', [NO_SAMPLER, { ...NO_SAMPLER, ...DOWN }], {}, undefined],
  ['one without the sampler has just changed', [{ ...NO_SAMPLER, changedMsAgo: 59_999 }], {}, undefined],
  ['those without the sampler are no longer alive', [{ ...NO_SAMPLER, seenMsAgo: 15_000 }], {}, undefined],
  ['one with the sampler was seen within a minute', [NO_SAMPLER, { seenMsAgo: 59_999 }], {}, undefined],
  ['one with the sampler was last seen a minute ago', [NO_SAMPLER, { seenMsAgo: 60_000 }], {}, 'sampler'],
  ['one with the sampler is paused', [NO_SAMPLER, { seenMsAgo: 3_600_000, paused: true }], {}, undefined],
  ['the seed is too large', [{ maxSeed: 2147483647 }], { needs: SEED }, 'seed'],
  ['the seed is small enough', [{ maxSeed: 2147483647 }], {}, undefined],
  ['another one takes the seed', [{ maxSeed: 2147483647 }, {}], { needs: SEED }, undefined],
  ['the size is a multiple of 8', [{ sizeMultiple: 16 }], { needs: OF_8 }, 'size'],
  ['the size is a multiple of 16', [{ sizeMultiple: 16 }], { needs: OF_16 }, undefined],
  ['the size is a multiple of 16, not of 64', [{ sizeMultiple: 64 }], { needs: OF_16 }, 'size'],
  ['the size is a multiple of 64', [{ sizeMultiple: 64 }], {}, undefined],
  ['the cfg_scale is too high', [{ maxCfgScale: 20 }], { needs: CFG }, 'cfg_scale'],
  ['the cfg_scale is low enough', [{ maxCfgScale: 20 }], { needs: SEED + OF_8 }, undefined],
  ['each lacks something else', [{ maxCfgScale: 20 }, NO_SAMPLER], { needs: CFG }, undefined],
  ['it lacks two things', [{ ...NO_SAMPLER, sizeMultiple: 64 }], { needs: OF_8 }, 'sampler'],
]

it.each(CASES)('%s', (_why, backends, kind, expected) => {
  const { waitedMs, ...asked } = { ...KIND, ...kind }
  const all = backends.map((it) => ({ ...B, ...it }))
  expect(unservable(all, asked, waitedMs)).toBe(expected)
  expect(unservable(all.toReversed(), asked, waitedMs)).toBe(expected)
})

it.each([
  [{}, 0],
  [{ maxSeed: 2147483647 }, SEED],
  [{ sizeMultiple: 16 }, 2],
  [{ sizeMultiple: 64 }, 2 + 4],
  [{ maxCfgScale: 20 }, CFG],
])('a backend with %j does not meet the needs %j', (limits, unmet) => {
  expect(unmetNeeds({ ...B, ...limits })).toBe(unmet)
})
