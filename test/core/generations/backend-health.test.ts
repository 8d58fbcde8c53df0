import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BackendError, type BackendErrorKind, type Capabilities } from '../../../src/core/generations/run/backend.js'
import { backendHealth } from '../../../src/core/generations/run/backend-health.js'
import { faultAttribution } from '../../../src/core/generations/run/fault-attribution.js'
import type { BackendRegistry } from '../../../src/core/generations/run/ports.js'
import { StoreFault } from '../../../src/core/generations/run/publish.js'
import { RUN_TIMES } from '../../../src/core/generations/run/times.js'
import { noLog } from '../../support/fake-ports.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const CAPABILITIES: Capabilities = { models: ['a', 'b'], samplers: ['euler'], maxSeed: 1, sizeMultiple: 8 }
const fault = (kind: BackendErrorKind) => new BackendError(kind, `it is ${kind}`, 'The GPU server failed.')
const passes = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** A backend that answers what `outside` says, and what was announced, logged and called. */
function given() {
  const outside = {
    store: async (): Promise<void> => undefined,
    answer: async (_signal: AbortSignal) => CAPABILITIES,
    isServing: false,
  }
  const announced: { up: boolean; models: readonly string[] | null; error: string | undefined; loaded: unknown }[] = []
  const log: string[] = []
  const ups: number[] = []
  const checks: number[] = []
  const attribution = faultAttribution()
  const backends: BackendRegistry = {
    announce: async (_worker, _backend, up, { models }, condition) =>
      void announced.push({ up, models, error: condition?.error, loaded: condition?.loaded }),
  }
  const health = backendHealth(
    {
      backends,
      store: { check: () => outside.store() },
      attribution,
      log: { ...noLog, info: (_facts, said) => void log.push(said), warn: (_facts, said) => void log.push(said) },
      isServing: () => outside.isServing,
      onUp: () => void ups.push(performance.now()),
    },
    {
      name: 'fake',
      capabilities: (signal) => {
        checks.push(performance.now())
        return outside.answer(signal)
      },
    },
    'w',
    RUN_TIMES,
  )
  /** The pauses before the last checks, in ms. */
  const pauses = () => checks.slice(1).map((at, n) => Math.round(at - (checks[n] as number)))
  return { outside, health, attribution, announced, log, ups, pauses }
}

describe('a backend that answers', () => {
  it('is said to lack something for a model once, and again when it lacks something else', async () => {
    const { outside, health, log } = given()
    const lacking = async (...lacks: [string, readonly string[]][]) => {
      outside.answer = async () => ({ ...CAPABILITIES, lacks: new Map(lacks) })
      await health.check()
      return log.splice(0).filter((said) => said.includes('cannot draw'))
    }
    const noFile = 'backend cannot draw with flux@1. It has no "ink".'
    expect(await lacking(['flux@1', ['It has no "ink".']])).toEqual([noFile])
    expect(await lacking(['flux@1', ['It has no "ink".']])).toEqual([])
    expect(await lacking(['flux@1', ['It has no "ink".', 'It has no "oil".']])).toEqual([`${noFile} It has no "oil".`])
    expect(await lacking()).toEqual([])
    expect(await lacking(['flux@1', ['It has no "ink".']])).toEqual([noFile])
  })

  it('is up, announced with what it serves, and checked every five seconds', async () => {
    const { health, announced, log, ups, pauses } = given()
    await health.check()
    expect([health.isUp(), health.serves()]).toEqual([true, CAPABILITIES])
    await passes(10_000)
    expect(announced).toEqual(Array(3).fill({ up: true, models: ['a', 'b'], error: undefined, loaded: undefined }))
    expect(pauses()).toEqual([5000, 5000])
    expect(ups).toHaveLength(3)
    expect(log).toEqual(['backend is up'])
  })

  it('holds the model of the last inference until it goes down', async () => {
    const { health, announced } = given()
    await health.check()
    expect(health.loads('a')).toBe(true)
    health.drawsWith('a')
    expect([health.loaded(), health.loads('a'), health.loads('b')]).toEqual(['a', false, true])
    await passes(5000)
    expect(announced.at(-1)?.loaded).toBe('a')
    health.wentDown(fault('lost'))
    expect([health.loaded(), health.loads('a')]).toEqual([undefined, true])
  })

  it('loads nothing if it draws with any model', async () => {
    const { outside, health } = given()
    outside.answer = async () => ({ ...CAPABILITIES, models: null })
    await health.check()
    health.drawsWith('a')
    expect([health.loaded(), health.loads('b')]).toEqual([undefined, false])
  })

  it('is announced immediately without a model that it lacks, and with it when it may have it again', async () => {
    const { health, attribution, announced } = given()
    await health.check()
    for (const accountId of ['1', '2'])
      attribution.noteModelFault({ id: `gen_${accountId}`, accountId, filename: 'a', sampler: 'euler' })
    health.modelIsMissing()
    expect(health.serves().models).toEqual(['b'])
    await passes(0)
    expect(announced.at(-1)?.models).toEqual(['b'])
    await passes(295_000)
    expect(announced.at(-1)?.models).toEqual(['b'])
    await passes(10_000)
    expect(announced.at(-1)?.models).toEqual(['a', 'b'])
  })

  it('is announced immediately when it begins to fail, unless it is down: then its probe does that', async () => {
    const { health, announced, pauses } = given()
    await health.check()
    health.announceSoon()
    await passes(0)
    expect(announced).toHaveLength(2)
    health.wentDown(fault('lost'))
    health.announceSoon()
    await passes(500)
    expect(pauses()).toEqual([0, 500])
  })
})

describe('a backend that is down', () => {
  it('is probed after pauses that double up to four seconds, and logged once', async () => {
    const { outside, health, announced, log, ups, pauses } = given()
    outside.answer = () => Promise.reject(fault('unavailable'))
    await health.check()
    await passes(15_500)
    expect(pauses()).toEqual([500, 1000, 2000, 4000, 4000, 4000])
    expect(announced.every(({ up, models, error }) => !up && models === null && error === 'it is unavailable')).toBe(
      true,
    )
    expect(log).toEqual(['backend is down'])
    expect(ups).toEqual([])
  })

  it('is probed more and more seldom until a generation has finished, though it answers', async () => {
    const { health, pauses } = given()
    await health.check()
    for (const probeMs of [500, 1000, 2000]) {
      health.wentDown(fault('lost'))
      await passes(probeMs)
    }
    health.hasFinished()
    health.wentDown(fault('lost'))
    await passes(500)
    expect(pauses()).toEqual([500, 1000, 2000, 500])
    expect(health.isUp()).toBe(true)
  })

  it('keeps what it was last known to serve, and why it was down', async () => {
    const { outside, health, announced } = given()
    await health.check()
    outside.answer = () => Promise.reject(fault('auth'))
    await passes(5000)
    expect(announced.at(-1)).toMatchObject({ up: false, models: ['a', 'b'], error: 'it is auth' })
    outside.answer = async () => CAPABILITIES
    await passes(500)
    expect(announced.at(-1)).toMatchObject({ up: true, error: 'it is auth' })
  })

  it.each(['auth', 'unusable'] as const)('has no models if it refuses from the start: %s', async (kind) => {
    const { outside, health, announced } = given()
    outside.answer = () => Promise.reject(fault(kind))
    await health.check()
    expect(announced).toMatchObject([{ up: false, models: [] }])
  })

  it('is one that does not say in time what it serves', async () => {
    const { outside, health, announced } = given()
    outside.answer = (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    void health.check()
    await passes(4000)
    expect(announced).toMatchObject([{ up: false, error: 'the backend did not say within 4000 ms what it serves' }])
  })
})

describe('a check that fails', () => {
  it('does not count while the backend draws, unless it is down', async () => {
    const { outside, health, log } = given()
    await health.check()
    outside.answer = () => Promise.reject(fault('unavailable'))
    outside.isServing = true
    await passes(5000)
    expect(health.isUp()).toBe(true)
    outside.isServing = false
    await passes(5000)
    expect(health.isUp()).toBe(false)
    outside.isServing = true
    await passes(500)
    expect(health.isUp()).toBe(false)
    outside.answer = async () => CAPABILITIES
    await passes(1000)
    expect(health.isUp()).toBe(true)
    expect(log).toEqual(['backend is up', 'backend is down', 'backend is up'])
  })

  it('pauses the backend if it is the store that fails, until that is mended', async () => {
    const { outside, health, log } = given()
    outside.store = () => Promise.reject(new StoreFault('The bucket refuses.'))
    await health.check()
    expect(health.isUp()).toBe(false)
    outside.store = async () => undefined
    await passes(500)
    expect(health.isUp()).toBe(true)
    expect(log).toEqual(['backend is paused until images can be stored again: the error says why', 'backend is up'])
  })
})

it('checks no more once it is stopped, which waits for a check that is under way', async () => {
  const { outside, health, announced, pauses } = given()
  await health.check()
  let answer: (() => void) | undefined
  outside.answer = () =>
    new Promise((resolve) => {
      answer = () => resolve(CAPABILITIES)
    })
  await passes(5000)
  let isStopped = false
  const stopped = health.stop().then(() => (isStopped = true))
  await passes(0)
  expect(isStopped).toBe(false)
  answer?.()
  await stopped
  expect(announced).toHaveLength(2)
  health.wentDown(fault('lost'))
  health.modelIsMissing()
  await passes(3_600_000)
  expect(pauses()).toEqual([5000])
})
