import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EaselError } from '../../src/client/easel-client.js'
import { type Persistence, persistently } from '../../src/client/persistently.js'
import { fakeClock, pass } from './scripted-server.js'

beforeEach(() => void fakeClock())
afterEach(() => void vi.useRealTimers())

const OPTIONS: Persistence = { signal: undefined, outageMs: 60_000, waitForTurn: true }

/** Asks as often as it takes; each try gets the next answer, the last one for ever. */
function asking(answers: readonly (number | 'stall' | readonly [number, string, string?])[], options = OPTIONS) {
  const atMs: number[] = []
  const began = performance.now()
  const work = persistently((signal) => {
    atMs.push(Math.round(performance.now() - began))
    const answer = answers[Math.min(atMs.length, answers.length) - 1]
    if (answer === undefined || answer === 'stall') {
      return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const [status, code, retryAfter] = typeof answer === 'number' ? [answer, 'x'] : answer
    const headers = { 'x-error-code': code, ...(retryAfter !== undefined && { 'retry-after': retryAfter }) }
    return Promise.resolve({ response: new Response(null, { status, headers }) })
  }, options)
  const end = work.then(
    ({ response }) => response.status,
    (error: EaselError) => error,
  )
  return { end, atMs }
}

describe('persistently', () => {
  it('gives a try up that stalls, and tries again', async () => {
    const stop = new AbortController()
    const { end, atMs } = asking(['stall', 200], { ...OPTIONS, signal: stop.signal })
    await pass(31_000)
    expect(await end).toBe(200)
    expect(atMs).toHaveLength(2)
    expect(atMs[1]).toBeGreaterThanOrEqual(30_000)
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  })

  it('repeats what did not arrive in time', async () => {
    const { end, atMs } = asking([[408, 'invalid_request'], 200])
    await pass(1000)
    expect(await end).toBe(200)
    expect(atMs).toHaveLength(2)
  })

  it('counts stalls as an outage, and says so in the end', async () => {
    const { end, atMs } = asking(['stall'], { ...OPTIONS, outageMs: 40_000 })
    await pass(110_000)
    expect(await end).toMatchObject({ code: 'unreachable', message: expect.stringContaining('within 30 s') })
    expect(atMs).toHaveLength(3)
  })

  it('is no storm, whatever Retry-After says', async () => {
    const nonsense = ['0', '-1', '1e9', 'Sat, 21 Nov 2026 00:00:00 GMT', '']
    for (const retryAfter of nonsense) {
      const stop = new AbortController()
      const { end, atMs } = asking([[429, 'rate_limited', retryAfter]], { ...OPTIONS, signal: stop.signal })
      await pass(60_000)
      stop.abort(new Error('enough'))
      expect(await end).toMatchObject({ message: 'enough' })
      expect([retryAfter, atMs.length < 60]).toEqual([retryAfter, true])
    }
  })

  it('ends an outage in its time although repeats come too soon in between', async () => {
    const { end, atMs } = asking(
      [...Array(20).fill([503, 'unavailable', '5']), 200].flatMap((it) => [
        it,
        [409, 'idempotency_in_flight', '1'],
        [429, 'rate_limited', '1'],
      ]),
    )
    await pass(90_000)
    expect(await end).toMatchObject({ code: 'unavailable', status: 503 })
    expect(atMs.at(-1)).toBeLessThan(70_000)
  })

  it('asks a last time when an outage has lasted as long as it may, though it is told to come later', async () => {
    const { end, atMs } = asking([[503, 'unavailable', '3600']])
    await pass(61_000)
    expect(await end).toMatchObject({ status: 503, retryAfterSeconds: 3600 })
    expect(atMs).toEqual([0, 60_000])
  })

  it('counts an outage anew after it has waited for its turn', async () => {
    const { end } = asking([503, [429, 'active_generation', '50'], 503, [429, 'active_generation', '50'], 503, 200])
    await pass(120_000)
    expect(await end).toBe(200)
  })

  it('without waiting for a turn ends with the first refusal that tells what has become of it', async () => {
    const impatient = { ...OPTIONS, waitForTurn: false }
    for (const [answers, code] of [
      [[[429, 'rate_limited', '1'], 200], 'rate_limited'],
      [[[429, 'active_generation', '1'], 200], 'active_generation'],
      [[503, [429, 'active_generation', '1'], 200], 'active_generation'],
      [[503, [402, 'insufficient_credits'], 200], 'insufficient_credits'],
    ] as const) {
      const { end } = asking(answers, impatient)
      await pass(20_000)
      expect(await end).toMatchObject({ code })
    }
    const { end } = asking(
      [503, [429, 'rate_limited', '1'], [409, 'idempotency_in_flight', '1'], [429, 'http_429', '1'], 200],
      impatient,
    )
    await pass(20_000)
    expect(await end).toBe(200)
  })
})
