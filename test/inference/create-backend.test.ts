import { expect, it } from 'vitest'
import { createBackend } from '../../src/inference/create-backend.js'

it.each([
  ['a1111+http://gpu1:7860', 'a1111+http://gpu1:7860'],
  ['a1111+https://user:secret@gpu1/forge/', 'a1111+https://gpu1/forge'],
])('%s is the server %s', async (url, name) => {
  const backend = createBackend(url, { timeoutMs: 1_000 })
  expect(backend.name).toBe(name)
  await backend.close()
})

it('preview: needs no server', async () => {
  const backend = createBackend('preview:', { timeoutMs: 1_000 })
  expect((await backend.capabilities(new AbortController().signal)).models).toBeNull()
  await backend.close()
})

it.each(['comfyui+http://user:secret@gpu1:8188', 'http://user:secret@gpu1', 'nonsense'])(
  '%s is refused without its credentials',
  (url) => {
    const complaint =
      /^There is no backend for the scheme "[a-z+]*" of INFERENCE_URL; use preview: or a1111\+http:\/\/host:7860\.$/
    expect(() => createBackend(url, { timeoutMs: 1_000 })).toThrow(complaint)
  },
)
