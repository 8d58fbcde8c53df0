import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createA1111Backend } from '../../src/inference/a1111/a1111-backend.js'
import { createOpenAiBackend } from '../../src/inference/openai/openai-backend.js'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { startOpenAiStandIn } from '../stand-ins/openai/openai-stand-in.js'
import { startGivingUpProxy } from '../support/giving-up-proxy.js'
import { attached, failureOf } from './given.js'

const NEVER = new Promise<never>(() => undefined)
const ADVICE =
  /after [\d.]+ s of drawing: probably a proxy between .* gives up after [\d.]+ s; set its time-out .* more than INFERENCE_TIMEOUT_SECONDS, which is 60, or/

/** What a backend says of a proxy that gives up a drawing after so long. */
async function saidBehind(kind: 'a1111' | 'openai', how: number | 'cut', afterMs: number) {
  const isLate = (path: string) => (/txt2img|generations/.test(path) ? delay(afterMs) : NEVER)
  const behind = async (server: string) => {
    const proxy = await startGivingUpProxy(server, isLate, how)
    onTestFinished(() => proxy.close())
    return proxy
  }
  const limits = { timeoutMs: 60_000 }
  if (kind === 'a1111') {
    const gpu = await startA1111StandIn()
    gpu.set({ held: true })
    const url = (await behind(gpu.url)).through(gpu.inferenceUrl)
    return failureOf(attached(gpu, createA1111Backend(url, limits)).generate())
  }
  const gpu = await startOpenAiStandIn()
  gpu.set({ held: true })
  const url = (await behind(gpu.url)).through(gpu.inferenceUrl(''))
  return failureOf(attached(gpu, createOpenAiBackend(`${url}?sampler=euler_a`, limits)).generate())
}

it.each([
  ['a1111', 504],
  ['a1111', 'cut'],
  ['a1111', 502],
  ['openai', 504],
  ['openai', 'cut'],
  ['openai', 503],
  ['openai', 520],
] as const)('a drawing that a proxy before %s cuts off tells of its time-out: %s', async (kind, how) => {
  const error = await saidBehind(kind, how, 600)
  expect(error).toMatchObject({ kind: 'lost', message: expect.stringMatching(ADVICE) })
  // The log would show the cause instead.
  expect(error.cause).toBeUndefined()
})

it('a proxy that gives up at once has no server behind it', async () => {
  const error = await saidBehind('openai', 502, 0)
  expect(error.kind).toBe('unavailable')
  expect(error.message).not.toMatch(/time-out/)
})
