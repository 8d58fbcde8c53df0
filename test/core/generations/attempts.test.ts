import { setImmediate as settled } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { inferencePace } from '../../../src/core/generations/inference-pace.js'
import { backendAttempts } from '../../../src/core/generations/run/attempts.js'
import {
  BackendError,
  type InferenceBackend,
  type InferenceOptions,
} from '../../../src/core/generations/run/backend.js'
import { faultAttribution } from '../../../src/core/generations/run/fault-attribution.js'
import type { ClaimedGeneration } from '../../../src/core/generations/run/ports.js'
import { type RunPorts, WorkerCrash } from '../../../src/core/generations/run/run.js'
import { storeWatch } from '../../../src/core/generations/run/store-watch.js'
import { RUN_TIMES } from '../../../src/core/generations/run/times.js'
import { noActiveGenerationLock } from '../../../src/redis/active-generation-lock.js'
import { asDrawn, MADE_WITH, noBoard, noEnds, noImages, noLog, noQueue } from '../../support/fake-ports.js'
import { aGeneration } from '../../support/givens.js'
import { until } from '../../support/until.js'

const FREE = Promise.resolve()

let accounts = 0
/** Of another account each. */
const claimed = (): ClaimedGeneration => ({
  ...aGeneration({ id: `u${++accounts}`, username: 'u', key: 'k', keyId: 'k', developer: false }),
  attempt: 1,
  tries: 0,
})

const draw: InferenceBackend['generate'] = async ({ seeds }) =>
  seeds.map((seed) => ({ bytes: Buffer.from('png'), seed, madeWith: MADE_WITH }))
const failWith = (kind: BackendError['kind']) => async () => {
  throw new BackendError(kind, `it is ${kind}`, 'The GPU server failed.')
}

/** The attempts of a backend that draws as `generate` does; `told` is what they tell of it, `recorded` of themselves. */
function given(
  generate: InferenceBackend['generate'] = draw,
  more: Partial<RunPorts> = {},
  queues: InferenceBackend['queues'] = undefined,
) {
  const told: string[] = []
  const recorded: string[] = []
  const log: string[] = []
  const known = { isUp: true }
  const ports: RunPorts = {
    runs: {
      claim: async () => undefined,
      heartbeat: async () => true,
      succeed: async () => recorded.push('succeeded') > 0,
      fail: async () => recorded.push('failed') > 0,
      requeue: async ({ attempt }, { reason }) => {
        recorded.push(reason)
        return attempt + 1
      },
      currentAttempt: async () => undefined,
      putBacks: async () => 0,
      servedByOther: async () => false,
    },
    ends: noEnds,
    lock: noActiveGenerationLock,
    queue: noQueue,
    images: noImages,
    progress: noBoard,
    previews: noBoard,
    finishImage: asDrawn,
    log: {
      ...noLog,
      warn: (_facts, sentence) => log.push(sentence),
      error: (_facts, sentence) => log.push(sentence),
    },
    ...more,
  }
  const health = {
    isUp: () => known.isUp,
    loads: () => false,
    drawsWith: (filename: string) => told.push(`draws with ${filename}`),
    wentDown: (error: unknown) => told.push((error as Error).message),
    hasFinished: () => told.push('has finished'),
    modelIsMissing: () => told.push('a model is missing'),
    announceSoon: () => told.push('announce it'),
  }
  const attribution = faultAttribution()
  const backend: InferenceBackend = {
    name: 'fake',
    capabilities: async () => ({ models: null, samplers: [], maxSeed: 0, sizeMultiple: 8 }),
    generate,
    close: async () => undefined,
    ...(queues && { queues }),
  }
  const attempts = backendAttempts(
    ports,
    backend,
    { health, attribution, store: storeWatch(ports.images), pace: inferencePace() },
    RUN_TIMES,
  )
  return { attempts, attribution, known, told, recorded, log }
}

/** A server that draws until it is told to stop. */
const endless: InferenceBackend['generate'] = (_request, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

describe('an attempt of a backend', () => {
  it('gets the GPU when that is free, and leaves it when everything is drawn', async () => {
    const { attempts, told, recorded } = given()
    const generation = claimed()
    let free: (() => void) | undefined
    const slot = attempts.begin(generation, new Promise((resolve) => (free = resolve)))
    await settled()
    expect(told).toEqual([])
    free?.()
    await slot.done
    await attempts.ended()
    expect(told).toEqual([`draws with ${generation.filename}`, 'has finished'])
    expect(recorded).toEqual(['succeeded'])
  })

  it('goes back to the queue, without a word to the server, if that is down when its turn comes', async () => {
    const { attempts, known, told, recorded } = given()
    known.isUp = false
    await attempts.begin(claimed(), FREE).done
    await attempts.ended()
    expect(recorded).toEqual(['gpu_not_free'])
    expect(told).toEqual([])
  })

  it('takes the backend down with a fault of the server, which then draws others first', async () => {
    const { attempts, attribution, told, recorded } = given(failWith('lost'))
    const generation = claimed()
    await attempts.begin(generation, FREE).done
    expect(recorded).toEqual(['lost'])
    expect(told).toEqual([`draws with ${generation.filename}`, 'announce it', 'it is lost'])
    expect(attribution.dropped()).toEqual([generation.id])
  })

  it('has the backend announced with the first of several failures only', async () => {
    const { attempts, told } = given(failWith('timeout'))
    for (let n = 0; n < 3; n++) await attempts.begin(claimed(), FREE).done
    expect(told.filter((it) => it === 'announce it')).toHaveLength(1)
  })

  it('says that a model is missing when generations of two accounts have found that', async () => {
    const { attempts, told, recorded } = given(failWith('model_missing'))
    const first = claimed()
    await attempts.begin(first, FREE).done
    await attempts.begin(first, FREE).done
    expect(told).not.toContain('a model is missing')
    await attempts.begin(claimed(), FREE).done
    expect(told.at(-1)).toBe('a model is missing')
    expect(recorded).toEqual(Array(3).fill('model_missing'))
  })

  it('pauses the backend at the first refusal of the store', async () => {
    const refusals = [new Error('ENOSPC'), new Error('ENOSPC')]
    const put = async () => {
      const refusal = refusals.shift()
      if (refusal) throw refusal
      return true
    }
    const { attempts, told, recorded } = given(draw, { images: { ...noImages, put } })
    attempts.begin(claimed(), FREE)
    await until(() => recorded.length > 0, 'the images being stored')
    expect(told.filter((it) => !/draws with|has finished/.test(it))).toHaveLength(1)
    expect(recorded).toEqual(['succeeded'])
  })

  it('is left to the reconciler if its outcome cannot be recorded, and the GPU is free', async () => {
    const { attempts, told, log } = given(draw, { around: () => Promise.reject(new Error('Connection terminated')) })
    await attempts.begin(claimed(), FREE).done
    expect([told, log]).toEqual([[], ['generation left to the reconciler']])
  })

  it('warns once of a server that draws for others', async () => {
    const { attempts, log } = given(async (request, options) => {
      options.onWaiting?.(1)
      return draw(request, options)
    })
    for (let n = 0; n < 2; n++) await attempts.begin(claimed(), FREE).done
    await attempts.ended()
    expect(log).toEqual([expect.stringContaining('let only one worker use it')])
  })
})

describe('the attempts of a backend', () => {
  it('have room for another one while at most four are being stored', async () => {
    const storing: (() => void)[] = []
    const put = () => new Promise<boolean>((resolve) => storing.push(() => resolve(true)))
    const { attempts, recorded } = given(draw, { images: { ...noImages, put } })
    for (let n = 1; n <= 5; n++) {
      await attempts.roomForAnother()
      await attempts.begin(claimed(), FREE).done
    }
    let hasRoom = false
    const room = attempts.roomForAnother().then(() => (hasRoom = true))
    await until(() => storing.length === 5, 'five images being stored')
    await settled()
    expect(hasRoom).toBe(false)
    storing[2]?.()
    await room
    expect(recorded).toEqual(['succeeded'])
    for (const store of storing) store()
    await attempts.ended()
    expect(recorded).toHaveLength(5)
  })

  it('while the backend fails, have room only when all have ended', async () => {
    let stored: (() => void) | undefined
    const put = () => new Promise<boolean>((resolve) => (stored = () => resolve(true)))
    const { attempts, attribution } = given(draw, { images: { ...noImages, put } })
    await attempts.begin(claimed(), FREE).done
    attribution.noteFailure()
    let hasRoom = false
    const room = attempts.roomForAnother().then(() => (hasRoom = true))
    await until(() => stored, 'the image being stored')
    expect(hasRoom).toBe(false)
    stored?.()
    await room
  })

  it('go back to the queue when the worker leaves: what is drawn, and what waits for its turn', async () => {
    const { attempts, recorded } = given(endless)
    const slot = attempts.begin(claimed(), FREE)
    attempts.begin(claimed(), slot.done)
    await settled()
    attempts.leave(new Error('the worker is leaving'))
    await attempts.ended()
    expect(recorded).toEqual(['worker_leaving', 'worker_leaving'])
  })

  it('are left to the reconciler when the worker crashes', async () => {
    const { attempts, recorded, log } = given(endless)
    attempts.begin(claimed(), FREE)
    await settled()
    attempts.leave(new WorkerCrash('an uncaught error'))
    await attempts.ended()
    expect([recorded, log]).toEqual([[], ['generation left to the reconciler']])
  })
})

describe('where the server draws one request after the other by itself', () => {
  afterEach(() => void vi.useRealTimers())

  /** One attempt is drawn, and one is asked for behind it; `asked` has how each was asked for, and how to end it. */
  async function givenTwo(queues = true) {
    const asked: { options: InferenceOptions; draw: () => void; fail: (error: unknown) => void }[] = []
    const generate: InferenceBackend['generate'] = (request, options) =>
      new Promise((resolve, reject) => {
        options.signal.addEventListener('abort', () => reject(options.signal.reason), { once: true })
        asked.push({ options, draw: () => resolve(draw(request, options)), fail: reject })
      })
    const outside = given(generate, {}, () => queues)
    const [first, second] = [claimed(), claimed()]
    const slot = outside.attempts.begin(first, FREE)
    // `until` would wait by a timer that may be a fake.
    while (asked.length === 0) await settled()
    const behind = outside.attempts.begin(second, slot.done, true)
    await settled()
    await settled()
    return { ...outside, asked, first, second, slot, behind }
  }

  it('asks for the next one while one is drawn, and counts it as drawn from when the server says so', async () => {
    const { attempts, asked, told, recorded, first, second } = await givenTwo()
    expect(asked).toHaveLength(2)
    expect(told).toEqual([`draws with ${first.filename}`])
    asked[0]?.draw()
    await asked[1]?.options.after
    const before = told.length
    asked[1]?.options.onWaiting?.(0)
    expect(told.slice(before)).toEqual([`draws with ${second.filename}`])
    asked[1]?.draw()
    await attempts.ended()
    expect(recorded).toEqual(['succeeded', 'succeeded'])
  })

  it('does so only if the server has just now said that it can', async () => {
    const { attempts, asked } = await givenTwo(false)
    expect(asked).toHaveLength(1)
    asked[0]?.draw()
    await until(() => asked.length === 2, 'the second being asked for')
    expect(asked[1]?.options.after).toBeUndefined()
    asked[1]?.draw()
    await attempts.ended()
  })

  it('puts one back that has not begun when the server fails, which is no fault of that one', async () => {
    const { attempts, attribution, asked, told, recorded, first } = await givenTwo()
    for (const { fail } of [...asked].reverse()) fail(new BackendError('lost', 'it is lost', 'The GPU server failed.'))
    await attempts.ended()
    expect(recorded.sort()).toEqual(['gpu_not_free', 'lost'])
    expect(attribution.dropped()).toEqual([first.id])
    expect(told.filter((it) => it === 'it is lost')).toHaveLength(1)
  })

  it('reports what the server says of one that has not begun', async () => {
    const { attempts, asked, recorded } = await givenTwo()
    asked[1]?.fail(new BackendError('model_missing', 'it has no such file', 'The model is not available.'))
    await until(() => recorded.length === 1, 'the second being put back')
    expect(recorded).toEqual(['model_missing'])
    asked[0]?.draw()
    await attempts.ended()
  })

  it('takes one back that has not begun after five seconds, so that another backend may claim it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { attempts, asked, recorded, behind } = await givenTwo()
    let isDone = false
    void behind.done.then(() => (isDone = true))
    await vi.advanceTimersByTimeAsync(4_999)
    expect(asked[1]?.options.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(recorded).toEqual(['gpu_not_free'])
    // The server still draws the first.
    expect(isDone).toBe(false)
    expect(asked[0]?.options.signal.aborted).toBe(false)
    asked[0]?.draw()
    await attempts.ended()
    expect(recorded).toEqual(['gpu_not_free', 'succeeded'])
  })

  it('leaves one alone that has begun, however long it takes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { attempts, asked, recorded } = await givenTwo()
    asked[0]?.draw()
    asked[1]?.options.onWaiting?.(0)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(asked[1]?.options.signal.aborted).toBe(false)
    asked[1]?.draw()
    await attempts.ended()
    expect(recorded).toEqual(['succeeded', 'succeeded'])
  })
})
