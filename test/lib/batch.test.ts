import { expect, it } from 'vitest'
import { batched, batchedInTurn, singleFlight } from '../../src/lib/batch.js'

it('concurrent calls share one load, and each caller gets the value of its key', async () => {
  const loads: (readonly number[])[] = []
  const double = batched(async (keys: readonly number[]) => {
    loads.push(keys)
    return keys.map((key) => key * 2)
  })
  expect(await Promise.all([double(1), double(2), double(1)])).toEqual([2, 4, 2])
  expect(await double(3)).toBe(6)
  expect(loads).toEqual([[1, 2, 1], [3]])
})

it('a call during a load does not wait for its end, but begins the next load', async () => {
  const loads: { keys: readonly string[]; end: (values: string[]) => void }[] = []
  const load = batched((keys: readonly string[]) => new Promise<string[]>((end) => loads.push({ keys, end })))
  const first = load('a')
  await expect.poll(() => loads.length).toBe(1)
  const second = load('b')
  await expect.poll(() => loads.length).toBe(2)
  loads[1]?.end(['B'])
  expect(await second).toBe('B')
  loads[0]?.end(['A'])
  expect(await first).toBe('A')
})

it('a load that fails rejects for all of its callers, and the next call loads anew', async () => {
  let works = false
  const load = batched(async (keys: readonly number[]) => {
    if (!works) throw new Error('away')
    return keys
  })
  const both = await Promise.allSettled([load(1), load(2)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  works = true
  expect(await load(3)).toBe(3)
})

it('the loads of a group run one after the other, also after a failure, and those of another group beside them', async () => {
  const loads: { keys: readonly string[]; end: (error?: Error) => void }[] = []
  const load = batchedInTurn(
    (key: string) => key.slice(0, 1),
    (keys) =>
      new Promise<string[]>((resolve, reject) => {
        loads.push({ keys, end: (error) => (error ? reject(error) : resolve(keys.map((key) => key.toUpperCase()))) })
      }),
  )
  const first = [load('a1'), load('a2')]
  await expect.poll(() => loads.length).toBe(1)
  const next = [load('a3'), load('b1'), load('a4')]
  await expect.poll(() => loads.length).toBe(2)
  loads[0]?.end(new Error('away'))
  for (const { status } of await Promise.allSettled(first)) expect(status).toBe('rejected')
  await expect.poll(() => loads.length).toBe(3)
  expect(loads.map(({ keys }) => keys)).toEqual([['a1', 'a2'], ['b1'], ['a3', 'a4']])
  for (const { end } of loads) end()
  expect(await Promise.all(next)).toEqual(['A3', 'B1', 'A4'])
})

it('a shared value is never older than the request for it', async () => {
  let value = 1
  const read = singleFlight(async () => value)
  expect(await Promise.all([read(), read()])).toEqual([1, 1])
  value = 2
  expect(await read()).toBe(2)
})
