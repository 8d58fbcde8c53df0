import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { atSharedMoments, untilSharedMoment } from '../../src/lib/shared-moments.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('what is begun at different times acts at the same moments, until it is stopped', () => {
  const seen: string[] = []
  const act = (name: string) => atSharedMoments(2000, () => seen.push(`${name} at ${performance.now()}`))
  const begun = performance.now()
  const stopFirst = act('first')
  vi.advanceTimersByTime(1500)
  const stopSecond = act('second')
  vi.advanceTimersByTime(500)
  stopFirst()
  vi.advanceTimersByTime(2000)
  stopSecond()
  vi.advanceTimersByTime(10_000)
  expect(seen).toEqual([`first at ${begun + 2000}`, `second at ${begun + 2000}`, `second at ${begun + 4000}`])
  expect(vi.getTimerCount()).toBe(0)
})

it('the next shared moment is a multiple of the time, and not one that is nearly now', () => {
  expect(untilSharedMoment(1000, 3100)).toBe(900)
  expect(untilSharedMoment(1000, 3999)).toBe(1001)
})
