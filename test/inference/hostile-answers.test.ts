/** Texts of which a careless expression looks at each part again and again: for a megabyte that takes hours. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { drawnImage } from '../../src/inference/drawn-image.js'
import { saysOutOfMemory } from '../../src/inference/out-of-memory.js'
import { describeAnswer, jsonReply, publicWords, replyFailure } from '../../src/inference/server-reply.js'

const long = (part: string) => part.repeat(4_000_000 / part.length)

it.each([
  'failed to alloc x ',
  'malloc',
  'CUBLAS_STATUS_NOT_INITIALIZED ',
  'INTERNAL ASSERT FAILED ',
  'RESOURCE_EXHAUSTED ',
  'requires ',
  'model ',
  'if a ',
  ' ',
  '<title',
  '<title> ',
])('an answer of "%s" again and again is judged by its beginning and its end', (part) => {
  const said = long(part)
  for (const text of [said, `<html><title>${said}`, JSON.stringify({ error: said })]) {
    expect(replyFailure('it', 500, text).kind).toBe('backend_fault')
    expect(describeAnswer(text, z.string(), (words) => publicWords(words))).toMatch(/instead of/)
    expect(publicWords(text).length).toBeLessThanOrEqual(300)
  }
})

it('an error is found at the end of a long trace', () => {
  expect(saysOutOfMemory(`${long('  at some line of code\n')}torch.OutOfMemoryError: CUDA out of memory.`)).toBe(true)
})

it.each([' ', '\n', 'A', '='])('an image of "%s" again and again is refused', async (part) => {
  const image = drawnImage(`${long(part)}!`, { width: 64, height: 64 }, (what) => new Error(what))
  await expect(image).rejects.toThrow('is not base64')
})

it.each([
  ['objects in place of texts', `{"images":[${'{},'.repeat(10_000_000)}{}]}`],
  ['depth', '['.repeat(30_000_000)],
  ['errors', `{"detail":[${'{"msg":"x"},'.repeat(3_000_000)}{}]}`],
])('an answer of vast %s takes neither time nor memory', (_what, text) => {
  const form = z.object({ images: z.array(z.string()) })
  const most = process.resourceUsage().maxRSS
  expect(() => jsonReply('it', { status: 200, text }, form)).toThrow('of more than 1000000 values')
  expect(replyFailure('it', 500, text).kind).toBe('backend_fault')
  expect(process.resourceUsage().maxRSS - most).toBeLessThan(200_000) // KiB
})
