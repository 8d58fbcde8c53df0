import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { snapshot } from '../../src/lib/batch.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** Looks that the test ends by hand. */
function looks() {
  const pending: { resolve(value: number): void; reject(error: Error): void }[] = []
  let begun = 0
  const take = () => {
    begun++
    return new Promise<number>((resolve, reject) => pending.push({ resolve, reject }))
  }
  return { take, begun: () => begun, next: () => pending.shift() as (typeof pending)[number] }
}

describe('a snapshot', () => {
  it('is taken once for all who ask meanwhile, and used while it is fresh', async () => {
    const { take, begun, next } = looks()
    const get = snapshot(take, { freshMs: 100 })
    const asked = [get(), get()]
    next().resolve(1)
    expect(await Promise.all(asked)).toEqual([1, 1])
    vi.advanceTimersByTime(100)
    expect(await get()).toBe(1)
    expect(begun()).toBe(1)
    vi.advanceTimersByTime(1)
    const later = get()
    next().resolve(2)
    expect(await later).toBe(2)
  })

  it('is used while the next one is taken, until it is of no use', async () => {
    const { take, next } = looks()
    const get = snapshot(take, { freshMs: 100, usableMs: 1000 })
    const first = get()
    next().resolve(1)
    await first
    vi.advanceTimersByTime(1000)
    expect(await get()).toBe(1)
    vi.advanceTimersByTime(1)
    const waiting = get()
    next().resolve(2)
    expect(await waiting).toBe(2)
  })

  it('is not replaced by an error: who waits gets it, and the next one asks again', async () => {
    const { take, begun, next } = looks()
    const get = snapshot(take, { freshMs: 100, usableMs: 1000 })
    const first = get()
    next().reject(new Error('away'))
    await expect(first).rejects.toThrow('away')
    const second = get()
    next().resolve(1)
    expect(await second).toBe(1)
    vi.advanceTimersByTime(200)
    expect(await get()).toBe(1)
    next().reject(new Error('away'))
    await Promise.resolve()
    expect(await get()).toBe(1)
    expect(begun()).toBeGreaterThan(2)
  })

  it('may be fresh for longer, the longer it took', async () => {
    const { take, begun, next } = looks()
    const get = snapshot(take, { freshMs: (tookMs) => tookMs * 10 })
    const first = get()
    vi.advanceTimersByTime(20)
    next().resolve(1)
    await first
    vi.advanceTimersByTime(200)
    await get()
    expect(begun()).toBe(1)
  })
})
