import { expect, it } from 'vitest'
import { withConcatenated } from '../../src/images/plain-png.js'

const memoryOf = (length: number) => withConcatenated([Buffer.alloc(length)], async ({ buffer }) => buffer)

it('reused memory holds the pieces in their order, and nothing of earlier ones', async () => {
  await memoryOf(100)
  const pieces = ['one, ', '', 'two'].map((text) => Buffer.from(text))
  expect(await withConcatenated(pieces, async (whole) => whole.toString())).toBe('one, two')
})

it('reused memory is lent to one use at a time', async () => {
  await memoryOf(100)
  await withConcatenated([Buffer.alloc(100)], async (outer) => {
    const inner = await memoryOf(100)
    expect(inner).not.toBe(outer.buffer)
  })
})

it('reused memory is lent again after its use has ended or failed, if it is large enough', async () => {
  const large = await memoryOf(5000)
  const failing = withConcatenated([Buffer.alloc(4000)], async ({ buffer }) => {
    expect(buffer).toBe(large)
    throw new Error('failed')
  })
  await expect(failing).rejects.toThrow('failed')
  expect(await memoryOf(5000)).toBe(large)
  const larger = await memoryOf(large.byteLength + 1)
  expect(larger).not.toBe(large)
  expect(await memoryOf(1)).toBe(larger)
})
