import { getEventListeners } from 'node:events'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { BackendError, type InferenceBackend } from '../../../src/core/generations/run/backend.js'
import { backendLoop } from '../../../src/core/generations/run/backend-loop.js'
import type { ClaimedGeneration } from '../../../src/core/generations/run/ports.js'
import type { StoreFault } from '../../../src/core/generations/run/publish.js'
import { type BackendFaults, type RunPorts, runGeneration } from '../../../src/core/generations/run/run.js'
import { LEASE_SECONDS } from '../../../src/core/generations/run/times.js'
import { ImageTooLarge } from '../../../src/core/images/ports.js'
import { noActiveGenerationLock } from '../../../src/redis/active-generation-lock.js'
import { asDrawn, MADE_WITH, noBoard, noEnds, noImages, noLog, noQueue } from '../../support/fake-ports.js'
import { aGeneration } from '../../support/givens.js'
import { atOnce, noFaults } from '../../support/gpu-turn.js'

const claimed = (tries = 0): ClaimedGeneration => ({
  ...aGeneration({ id: 'u', username: 'u', key: 'k', keyId: 'k', developer: false }, { batchSize: 2 }),
  attempt: 1 + tries,
  tries,
})

/** The outside as plain objects, and what was done to it. */
function givenOutside(
  more: {
    readonly put?: () => Promise<void>
    readonly heartbeat?: () => Promise<boolean>
    readonly putBacks?: number
    readonly servedByOther?: boolean
  } = {},
) {
  const done: string[] = []
  const note = <T>(what: string, answer: T): T => {
    done.push(what)
    return answer
  }
  const ports: RunPorts = {
    runs: {
      claim: async () => undefined,
      heartbeat: more.heartbeat ?? (async () => true),
      succeed: async () => note('succeed', true),
      fail: async (_generation, reason) => note(`fail: ${reason}`, true),
      requeue: async (generation, { countTry }) =>
        note(countTry ? 'requeue, one try less' : 'requeue', generation.attempt + 1),
      currentAttempt: async () => undefined,
      putBacks: async () => more.putBacks ?? 0,
      servedByOther: async () => more.servedByOther ?? false,
    },
    ends: noEnds,
    lock: { ...noActiveGenerationLock, release: async () => note('release', undefined) },
    queue: noQueue,
    images: {
      ...noImages,
      put: async (_slug, _png, { isWanted = async () => true } = {}) => {
        await more.put?.()
        if (!(await isWanted())) return false
        return note('put', true)
      },
      remove: async () => note('remove', undefined),
    },
    progress: noBoard,
    previews: noBoard,
    finishImage: asDrawn,
    log: noLog,
  }
  return { ports, done }
}

const backendThat = (generate: InferenceBackend['generate']): InferenceBackend => ({
  name: 'fake',
  capabilities: async () => ({ models: null, samplers: [], maxSeed: 0, sizeMultiple: 8 }),
  generate,
  close: async () => undefined,
})

const drawing = backendThat(async ({ seeds }) =>
  seeds.map((seed) => ({ bytes: Buffer.from('png'), seed, madeWith: MADE_WITH })),
)
const failing = (kind: BackendError['kind']) =>
  backendThat(async () => {
    throw new BackendError(kind, 'internal detail at /srv/gpu', 'The GPU server failed.')
  })
const run = (
  ports: RunPorts,
  backend: InferenceBackend,
  generation = claimed(),
  leaving = new AbortController().signal,
  faults: Partial<BackendFaults> = {},
) => runGeneration(ports, backend, generation, leaving, atOnce(), { ...noFaults, ...faults })

it('a worker that drains waits for a claim that is under way, and for the end of what it brings', async () => {
  const { ports, done } = givenOutside()
  let answer: ((claim: ClaimedGeneration | undefined) => void) | undefined
  const claim = () =>
    new Promise<ClaimedGeneration | undefined>((resolve) => {
      answer = resolve
    })
  const backends = { announce: async () => undefined }
  const options = { worker: 'w', affinityMaxDelayMs: 0 }
  const loop = backendLoop({ ...ports, runs: { ...ports.runs, claim }, backends }, drawing, options)
  await loop.start()
  const drained = loop.drain().then(() => done.push('drained'))
  await yieldToEventLoop()
  answer?.(claimed())
  await drained
  expect(done).toEqual(['put', 'put', 'succeed', 'release', 'drained'])
})

describe('an attempt', () => {
  it('stores its images, records success and only then frees the account', async () => {
    const { ports, done } = givenOutside()
    expect(await run(ports, drawing)).toBe('succeeded')
    expect(done).toEqual(['put', 'put', 'succeed', 'release'])
  })

  it('leaves no listener on the worker’s signal, which would keep its images in memory', async () => {
    const { ports } = givenOutside()
    const leaving = new AbortController().signal
    const given: AbortSignal[] = []
    const watched = backendThat(async (request, options) => {
      given.push(options.signal)
      return drawing.generate(request, options)
    })
    await run(ports, watched, claimed(), leaving)
    expect(getEventListeners(given[0] as AbortSignal, 'abort')).toHaveLength(0)
    expect(getEventListeners(leaving, 'abort')).toHaveLength(0)
  })

  it('can tell a server which attempts have ended, and which live or are unknown', async () => {
    const { ports } = givenOutside()
    const rows = new Map([
      ['gen_running', { status: 'processing', attempt: 2 } as const],
      ['gen_waiting', { status: 'queued', attempt: 2 } as const],
      ['gen_done', { status: 'succeeded', attempt: 1 } as const],
    ])
    const asked = ['running-2', 'running-1', 'waiting-1', 'done-1', 'unknown-1', 'running', 'running-2-2']
    let ended: readonly string[] = []
    const asking = backendThat(async (request, { hasEnded = async () => false, signal }) => {
      const answers = await Promise.all(asked.map((name) => hasEnded(`gen_${name}`)))
      ended = asked.filter((_name, n) => answers[n])
      return drawing.generate(request, { signal })
    })
    await run({ ...ports, runs: { ...ports.runs, currentAttempt: async (id) => rows.get(id) } }, asking)
    expect(ended).toEqual(['running-1', 'waiting-1', 'done-1'])
  })

  it('goes back to the queue without losing a try when the worker leaves', async () => {
    const { ports, done } = givenOutside()
    const leaving = new AbortController()
    const patient = backendThat(async (_request, { signal }) => {
      leaving.abort()
      signal.throwIfAborted()
      return []
    })
    expect(await run(ports, patient, claimed(), leaving.signal)).toBe('requeued')
    expect(done).toEqual(['requeue'])
  })

  it('shows how many requests its server draws first, and then its own progress', async () => {
    const { ports } = givenOutside()
    const said: (number | string)[] = []
    const progress = {
      ...ports.progress,
      set: async (_id: string, _attempt: number, value: number) => void said.push(value),
    }
    const turn = { ...atOnce(), begun: () => said.push('begun'), waits: () => said.push('waits') }
    const shared = backendThat(async (request, options) => {
      for (const before of [2, 2, 1]) options.onWaiting?.(before)
      options.onProgress?.(0.5)
      options.onWaiting?.(0)
      return drawing.generate(request, options)
    })
    const { signal } = new AbortController()
    await runGeneration({ ...ports, progress }, shared, claimed(), signal, turn, noFaults)
    expect(said).toEqual(['begun', 'waits', -3, 'waits', -2, 'begun', -1, 0.5])
    said.length = 0
    await runGeneration({ ...ports, progress }, drawing, claimed(1), signal, turn, noFaults)
    expect(said).toEqual(['begun', -1])
  })

  it.each(['unavailable', 'busy', 'auth'] as const)(
    'goes back to the queue without losing a try when the server is %s',
    async (kind) => {
      const { ports, done } = givenOutside()
      expect(await run(ports, failing(kind))).toEqual({ down: expect.any(BackendError) })
      expect(done).toEqual(['requeue'])
    },
  )

  it('loses a try to a refusal only if the server has drawn others since it last refused it', async () => {
    const { ports, done } = givenOutside()
    for (const kind of ['unavailable', 'auth', 'unusable', 'busy'] as const)
      await run(ports, failing(kind), claimed(), undefined, { isCulprit: () => true })
    expect(done).toEqual([...Array(3).fill('requeue, one try less'), 'requeue'])
  })

  it('loses a try to a refusal that has gone on for minutes, but not to a server that says that it is busy', async () => {
    const [before, after] = [givenOutside({ putBacks: 19 }), givenOutside({ putBacks: 20 })]
    for (const kind of ['unavailable', 'auth', 'unusable', 'busy'] as const)
      for (const { ports } of [before, after]) await run(ports, failing(kind))
    expect(before.done).toEqual(Array(4).fill('requeue'))
    expect(after.done).toEqual([...Array(3).fill('requeue, one try less'), 'requeue'])
  })

  it('loses a try to a broken connection only if it is the generation that breaks it, or to the third one', async () => {
    const { ports, done } = givenOutside({ putBacks: 1 })
    await run(ports, failing('lost'))
    await run(ports, failing('lost'), claimed(), undefined, { isCulprit: () => true })
    const third = givenOutside({ putBacks: 2 })
    await run(third.ports, failing('lost'))
    await run(third.ports, failing('lost'), claimed(2))
    expect(done).toEqual(['requeue', 'requeue, one try less'])
    expect(third.done.slice(0, 2)).toEqual(['requeue, one try less', 'fail: The GPU server failed.'])
  })

  it.each(['timeout', 'oom', 'backend_fault', 'bad_output'] as const)(
    'loses a try to %s, and fails with the third',
    async (kind) => {
      const { ports, done } = givenOutside()
      expect(await run(ports, failing(kind), claimed(1))).toBe('requeued')
      expect(await run(ports, failing(kind), claimed(2))).toBe('failed')
      expect(done).toEqual(['requeue, one try less', 'fail: The GPU server failed.', 'release', 'remove', 'remove'])
    },
  )

  it.each(['backend_fault', 'bad_output'] as const)(
    'goes back to the queue without losing a try if the fault is shared, and the server is down only if all of it fails: %s',
    async (kind) => {
      const { ports, done } = givenOutside()
      const sharedFault = (down: boolean) => ({ sharedFault: () => ({ times: 0, down }) })
      expect(await run(ports, failing(kind), claimed(2), undefined, sharedFault(true))).toEqual({
        down: expect.any(BackendError),
      })
      expect(await run(ports, failing(kind), claimed(2), undefined, sharedFault(false))).toBe('requeued')
      expect(done).toEqual(['requeue', 'requeue'])
    },
  )

  it('goes back to the queue without losing a try when the server does not have what it lists', async () => {
    const { ports, done } = givenOutside()
    const outcome = run(ports, failing('model_missing'), claimed(2), undefined, {
      lacksModel: () => {
        done.push('the model is left out')
        return false
      },
    })
    expect(await outcome).toBe('requeued')
    expect(done).toEqual(['the model is left out', 'requeue'])
  })

  it('loses a try when it finds again that the server does not have what it lists', async () => {
    const { ports, done } = givenOutside()
    expect(await run(ports, failing('model_missing'), claimed(), undefined, { lacksModel: () => true })).toBe(
      'requeued',
    )
    expect(done).toEqual(['requeue, one try less'])
  })

  it.each(['invalid_request', 'unsupported'] as const)(
    'fails at once where only another backend could help and there is none: %s',
    async (kind) => {
      const { ports, done } = givenOutside()
      expect(await run(ports, failing(kind))).toBe('failed')
      expect(done[0]).toBe('fail: The GPU server failed.')
      const beside = givenOutside({ servedByOther: true })
      expect(await run(beside.ports, failing(kind))).toBe('requeued')
      expect(beside.done).toEqual(['requeue, one try less'])
      expect(await run(beside.ports, failing(kind), claimed(2))).toBe('failed')
    },
  )

  it('fails with a sentence of its own after an error nobody foresaw', async () => {
    const { ports, done } = givenOutside()
    const broken = backendThat(async () => {
      throw new TypeError("Cannot read properties of undefined (reading 'x')")
    })
    await run(ports, broken, claimed(2))
    expect(done[0]).toMatch(/^fail: The generation failed because of an internal error\./)
  })
})

describe('an attempt whose surroundings fail', () => {
  /** A run whose store refuses every image for so long; what is said of it, in seconds from its start. */
  async function runWhileRefused(forMs: number, error = new Error('ENOSPC')) {
    vi.useFakeTimers()
    try {
      const { ports, done } = givenOutside({
        put: async () => {
          if (performance.now() < forMs) throw error
        },
      })
      forMs += performance.now()
      const told: string[] = []
      const notStored = (fault: StoreFault) => void told.push(fault.message)
      const outcome = run(ports, drawing, claimed(), undefined, { notStored })
      await vi.advanceTimersByTimeAsync(130_000)
      return { outcome: await outcome, done, told }
    } finally {
      vi.useRealTimers()
    }
  }

  it('keeps its images and puts them again when the store refuses them for less than two minutes', async () => {
    const { outcome, done, told } = await runWhileRefused(115_000)
    expect(outcome).toBe('succeeded')
    expect(done).toEqual(['put', 'put', 'succeed', 'release'])
    expect(told.length).toBeGreaterThan(2)
    expect(told[0]).toBe('ENOSPC')
  })

  it('fails, and is not drawn again, when the store refuses its images for longer', async () => {
    const { outcome, done } = await runWhileRefused(200_000)
    expect(outcome).toBe('failed')
    expect(done[0]).toBe('fail: The images were drawn but could not be stored. Please submit it again.')
  })

  it('fails at once, and the store is not blamed, when only its images are too large', async () => {
    const { outcome, done, told } = await runWhileRefused(200_000, new ImageTooLarge('413'))
    expect([outcome, told]).toEqual(['failed', []])
    expect(done[0]).toBe('fail: The image is too large to be stored. Choose a smaller width and height.')
  })

  it('stops and goes back to the queue without losing a try when its lease could not be renewed for long', async () => {
    vi.useFakeTimers()
    try {
      const { ports, done } = givenOutside({
        heartbeat: async () => {
          throw new Error('Connection terminated')
        },
      })
      const patient = backendThat(
        (_request, { signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      )
      const outcome = run(ports, patient)
      await vi.advanceTimersByTimeAsync(15_000)
      expect(await outcome).toBe('requeued')
      expect(done).toEqual(['requeue'])
    } finally {
      vi.useRealTimers()
    }
  })

  it('stops before its lease ends if its heartbeats are not answered at all', async () => {
    vi.useFakeTimers()
    try {
      const { ports } = givenOutside({ heartbeat: () => new Promise(() => undefined) })
      const begunAt = performance.now()
      let stoppedAt = Number.POSITIVE_INFINITY
      const patient = backendThat(
        (_request, { signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => {
              stoppedAt = performance.now()
              reject(signal.reason)
            }),
          ),
      )
      const outcome = run(ports, patient)
      await vi.advanceTimersByTimeAsync(8000)
      expect(await outcome).toBe('requeued')
      expect(stoppedAt - begunAt).toBeLessThan(LEASE_SECONDS * 1000)
    } finally {
      vi.useRealTimers()
    }
  })

  it('replaces no image when it was taken over while its process stood still', async () => {
    const now = performance.now.bind(performance)
    let stoodStillMs = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + stoodStillMs)
    try {
      const { ports, done } = givenOutside({ heartbeat: async () => false })
      const finishImage: RunPorts['finishImage'] = async (bytes, expected) => {
        stoodStillMs = 60_000
        return asDrawn(bytes, expected)
      }
      expect(await run({ ...ports, finishImage }, drawing)).toBe('lost')
      expect(done).toEqual([])
    } finally {
      clock.mockRestore()
    }
  })

  it('leaves everything alone when somebody else has taken over', async () => {
    vi.useFakeTimers()
    try {
      const { ports, done } = givenOutside({ heartbeat: async () => false })
      const patient = backendThat(
        (_request, { signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      )
      const outcome = run(ports, patient)
      await vi.advanceTimersByTimeAsync(5000)
      expect(await outcome).toBe('lost')
      expect(done).toEqual([])
    } finally {
      vi.useRealTimers()
    }
  })
})
