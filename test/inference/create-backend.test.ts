import { expect, it } from 'vitest'
import { createBackend } from '../../src/inference/create-backend.js'

it.each([
  ['a1111+http://gpu1:7860', 'a1111+http://gpu1:7860'],
  ['a1111+https://user:secret@gpu1/forge/', 'a1111+https://gpu1/forge'],
  ['comfyui+http://user:secret@gpu1:8188', 'comfyui+http://gpu1:8188'],
  ['comfyui+https://gpu1/comfy/', 'comfyui+https://gpu1/comfy'],
  ['openai+https://:secret@gpu1/v1?sampler=euler', 'openai+https://gpu1/v1'],
  ['sdcpp+http://user:secret@gpu1:1234/', 'sdcpp+http://gpu1:1234'],
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

it.each([
  ...['teleport+http://user:secret@gpu1:8188', 'http://user:secret@gpu1', 'comfyui+ftp://user:secret@gpu1', 'nonsense'],
])('%s is refused without its credentials', (url) => {
  const complaint =
    /^There is no backend for the scheme "[a-z+]*" of INFERENCE_URL; use preview:, comfyui\+http:\/\/…, [^@]*\.$/
  expect(() => createBackend(url, { timeoutMs: 1_000 })).toThrow(complaint)
})

it('names no scheme where there is none', () => {
  expect(() => createBackend('nonsense', { timeoutMs: 1_000 })).toThrow('for the scheme "" of')
})

it.each([
  'a1111+http://',
  'comfyui+http://user:secret@',
  'a1111+http://user:12/secret@gpu1:7860',
  'comfyui+http://user:12#secret@gpu1',
  'sdcpp+http://user:secret/more@gpu1',
])('%s, which is no address or has a password that ends the host, is refused without its credentials', (url) => {
  const complaint = /^A backend is written like a1111\+http:\/\/host:7860\. In its password write \/ as %2F, /
  const creating = () => createBackend(url, { timeoutMs: 1_000 })
  expect(creating).toThrow(complaint)
  expect(creating).not.toThrow('secret')
})
