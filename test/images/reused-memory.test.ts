import { expect, it } from 'vitest'
import { withMemory } from '../../src/images/reused-memory.js'

const borrowed = (bytes: number) => withMemory(bytes, async ({ buffer }) => buffer)

it('is lent to one at a time', async () => {
  await borrowed(100)
  await withMemory(100, async (outer) => {
    const inner = await borrowed(100)
    expect(inner).not.toBe(outer.buffer)
  })
})

it('is lent again once its use has ended or failed, as long as it is large enough', async () => {
  const large = await borrowed(5000)
  const failing = withMemory(4000, async ({ buffer, length }) => {
    expect([buffer, length]).toEqual([large, 4000])
    throw new Error('failed')
  })
  await expect(failing).rejects.toThrow('failed')
  expect(await borrowed(5000)).toBe(large)
  const larger = await borrowed(large.byteLength + 1)
  expect(larger).not.toBe(large)
  expect(await borrowed(1)).toBe(larger)
})
