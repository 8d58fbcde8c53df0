import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { InferredImage } from '../../src/core/generations/run/backend.js'
import { type Call, serverBackend } from '../../src/inference/server-backend.js'
import { createServerHttp, parseServerUrl } from '../../src/inference/server-http.js'
import { aRequest, failureOf, PONY } from './given.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A server that may draw for 1 s, after others' jobs for 10 s, and that does for an image what `infer` does. */
function drawing(infer: (call: Call) => Promise<void>) {
  const backend = serverBackend({
    http: createServerHttp(parseServerUrl('a1111+http://gpu1:7860')),
    limits: { timeoutMs: 1_000, queueMs: 10_000 },
    discover: async () => ({ samplers: new Map([['euler_a' as const, { name: 'euler_a', schedule: undefined }]]) }),
    offers: () => ({ models: [PONY] }),
    modelOf: (_, filename) => filename,
    lacking: () => [],
    runsOf: (seeds) => [seeds],
    async infer(_, call): Promise<InferredImage[]> {
      await infer(call)
      return []
    },
  })
  return backend.generate(aRequest(), { signal: new AbortController().signal })
}

/** Rejects as soon as the call is stopped. */
const takes = (ms: number, { stop }: Call) => vi.advanceTimersByTimeAsync(ms).then(() => stop.throwIfAborted())

it('does not count the time behind jobs of other clients as drawing', async () => {
  const images = drawing(async (call) => {
    await takes(600, call)
    call.waiting(2)
    await takes(5_000, call)
    call.waiting(0)
    await takes(399, call)
  })
  expect(await images).toEqual([])
})

it('counts the drawing before and after such a wait together', async () => {
  const images = drawing(async (call) => {
    await takes(600, call)
    call.waiting(1)
    await takes(5_000, call)
    call.waiting(0)
    await takes(401, call)
  })
  expect((await failureOf(images)).kind).toBe('timeout')
})

it('is busy when the jobs of other clients take too long in all', async () => {
  const images = drawing(async (call) => {
    call.waiting(1)
    await takes(6_000, call)
    call.waiting(0)
    await takes(900, call)
    call.waiting(1)
    await takes(4_001, call)
  })
  expect((await failureOf(images)).kind).toBe('busy')
})
