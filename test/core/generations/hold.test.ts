import { expect, it } from 'vitest'
import type { Workload } from '../../../src/core/generations/follow/eta.js'
import { holdIn } from '../../../src/core/generations/follow/hold.js'

const NOTHING: Workload = { pace: new Map(), queued: [], running: [], backends: [] }

it.each<[string | undefined, Partial<Workload>]>([
  [undefined, { backends: [['a', 'b']] }],
  [undefined, { backends: [null], pausedBackends: [['a']], paused: ['b'] }],
  ['no_backend', {}],
  ['no_model', { backends: [['b']] }],
  ['no_model', { backends: [], pausedBackends: [['b']] }],
  ['backends_paused', { backends: [['b']], pausedBackends: [['a']] }],
  ['model_paused', { backends: [null], paused: ['a'] }],
  ['all_paused', { pausedBackends: [['a']], paused: ['a'], allPaused: true }],
])('a generation is held back by: %s', (hold, workload) => {
  expect(holdIn({ ...NOTHING, ...workload }, 'a')).toBe(hold)
})
