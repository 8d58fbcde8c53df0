import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { faultAttribution } from '../../../src/core/generations/run/fault-attribution.js'
import type { ServedCapabilities } from '../../../src/core/generations/run/ports.js'

const SERVES: ServedCapabilities = {
  models: ['a', 'b', 'c'],
  samplers: ['euler', 'heun', 'ddim'],
  maxSeed: 1,
  sizeMultiple: 8,
}

type Given = readonly [account: string, model: string, sampler: 'euler' | 'heun' | 'ddim']
let ids = 0
const job = ([accountId, filename, sampler]: Given) => ({ id: `gen_${ids++}`, accountId, filename, sampler })

/** One backend, and what is left out there. */
function given() {
  // Long: what is left out must still be so when a busy machine looks.
  const attribution = faultAttribution({ leftOutMs: 3_600_000, lacksMs: 10_000 })
  return {
    attribution,
    fails: (...its: Given) => attribution.sharedFault(job(its)),
    works: (...its: Given) => attribution.noteEnd(job(its), true),
    leftOut: () => {
      const { models, samplers } = attribution.without(SERVES)
      return [...(SERVES.models ?? []), ...SERVES.samplers].filter(
        (name) => !models?.includes(name) && !samplers.some((its) => its === name),
      )
    },
  }
}

describe('a backend at which the generations of three accounts fail in a row', () => {
  it('goes on without the sampler that they share', () => {
    const { fails, leftOut } = given()
    expect(fails('1', 'a', 'heun')).toBeUndefined()
    expect(fails('2', 'b', 'heun')).toBeUndefined()
    expect(leftOut()).toEqual([])
    expect(fails('3', 'c', 'heun')).toEqual({ times: 0, down: false })
    expect(leftOut()).toEqual(['heun'])
  })

  it('goes on without the model that they share', () => {
    const { fails, leftOut } = given()
    fails('1', 'b', 'heun')
    fails('2', 'b', 'euler')
    expect(fails('3', 'b', 'ddim')).toEqual({ times: 0, down: false })
    expect(leftOut()).toEqual(['b'])
  })

  it('blames, of a model and a sampler that they share, the one that has not worked for longer', () => {
    const cases: [Given, string][] = [
      [['0', 'a', 'euler'], 'heun'],
      [['0', 'b', 'heun'], 'a'],
    ]
    for (const [worked, blamed] of cases) {
      const { fails, works, leftOut } = given()
      works('0', 'a', 'heun')
      works(...worked)
      for (const account of ['1', '2', '3']) fails(account, 'a', 'heun')
      expect(leftOut()).toEqual([blamed])
    }
  })

  it('is down when they share neither', () => {
    const { fails, leftOut } = given()
    fails('1', 'a', 'heun')
    fails('2', 'b', 'euler')
    expect(fails('3', 'a', 'euler')).toEqual({ times: 0, down: true })
    expect(leftOut()).toEqual([])
  })

  it('blames nothing that has worked between them', () => {
    const { fails, works, leftOut } = given()
    fails('1', 'a', 'heun')
    fails('2', 'b', 'euler')
    works('0', 'c', 'ddim')
    expect(fails('3', 'a', 'euler')).toBeUndefined()
    expect(fails('4', 'a', 'heun')).toEqual({ times: 0, down: false })
    expect(leftOut()).toEqual(['a'])
  })
})

describe('a model whose file is missing or broken', () => {
  it('is left out when generations of two accounts have found that', () => {
    const { attribution } = given()
    const [first, second] = [job(['1', 'a', 'heun']), job(['1', 'a', 'euler'])]
    expect(attribution.noteModelFault(first)).toEqual({ leaveOut: false, again: false })
    expect(attribution.noteModelFault(second)).toEqual({ leaveOut: false, again: false })
    expect(attribution.noteModelFault(first)).toEqual({ leaveOut: false, again: true })
    expect(attribution.noteModelFault(job(['2', 'b', 'heun']))).toEqual({ leaveOut: false, again: false })
    expect(attribution.noteModelFault(job(['2', 'a', 'heun']))).toEqual({ leaveOut: true, again: false })
  })

  it('is not left out if it has worked between them', () => {
    const { attribution, works } = given()
    attribution.noteModelFault(job(['1', 'a', 'heun']))
    works('3', 'a', 'heun')
    expect(attribution.noteModelFault(job(['2', 'a', 'heun']))).toEqual({ leaveOut: false, again: false })
  })
})

describe('a definition for which a server lacks something', () => {
  const given = () => {
    const attribution = faultAttribution({ leftOutMs: 1000, lacksMs: 10_000 })
    const listed = { ...SERVES, models: ['a', 'flux@1'] }
    const finds = () => attribution.noteModelFault(job(['1', 'flux@1', 'euler']))
    return { attribution, finds, served: () => attribution.withoutMissing(listed).models }
  }
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('is left out at once, costs nobody a try, and is listed again when the checks have had time to look', () => {
    const { finds, served } = given()
    expect(finds()).toEqual({ leaveOut: true, again: false })
    expect(served()).toEqual(['a'])
    vi.advanceTimersByTime(10_001)
    expect(served()).toEqual(['a', 'flux@1'])
  })

  it('is left out for minutes if it is listed and found lacking again, unless it has worked between', () => {
    const { attribution, finds, served } = given()
    finds()
    vi.advanceTimersByTime(10_001)
    expect(finds()).toEqual({ leaveOut: true, again: false })
    vi.advanceTimersByTime(290_000)
    expect(served()).toEqual(['a'])
    attribution.noteEnd(job(['1', 'flux@1', 'euler']), true)
    vi.advanceTimersByTime(10_001)
    finds()
    vi.advanceTimersByTime(10_001)
    expect(served()).toEqual(['a', 'flux@1'])
  })
})

describe('a backend whose inference failed', () => {
  it('is failing, and lets others draw for a while, until one succeeds', () => {
    const { attribution, works } = given()
    const state = () => [attribution.isFailing(), attribution.yields()]
    expect(state()).toEqual([false, false])
    attribution.noteFailure()
    expect(state()).toEqual([true, true])
    works('1', 'a', 'heun')
    expect(state()).toEqual([false, false])
  })

  it('lets others go before what it has dropped, until nothing else waits', () => {
    const { attribution } = given()
    attribution.noteDrop('gen_1')
    attribution.noteDrop('gen_2')
    expect(attribution.dropped()).toEqual(['gen_1', 'gen_2'])
    attribution.forgiveDropped()
    expect(attribution.dropped()).toEqual([])
  })
})

describe('one account', () => {
  it('makes a backend leave out no model and no sampler, however many of its generations fail', () => {
    const { fails, leftOut } = given()
    for (const model of ['a', 'b', 'c'])
      for (const sampler of ['euler', 'heun', 'ddim'] as const) expect(fails('1', model, sampler)).toBeUndefined()
    expect(leftOut()).toEqual([])
  })
})

it('a generation’s faults count as its own again after twenty that were shared', () => {
  const { attribution, fails } = given()
  fails('1', 'a', 'heun')
  fails('2', 'a', 'heun')
  const third = job(['3', 'a', 'heun'])
  const sharedFault = Array.from({ length: 21 }, () => attribution.sharedFault(third)?.times)
  expect(sharedFault).toEqual([...Array.from({ length: 20 }, (_, times) => times), undefined])
})
