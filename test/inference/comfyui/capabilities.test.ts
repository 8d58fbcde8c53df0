import { expect, it } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { givenBackend, VERSIONS } from './given.js'

it.each(VERSIONS)('version %s has all samplers but pndm', async (version) => {
  const { capabilities } = await givenBackend({ version })
  expect((await capabilities()).samplers).toEqual(SAMPLERS.filter((sampler) => sampler !== 'pndm'))
})

it('a server has no sampler that it does not list', async () => {
  const { capabilities } = await givenBackend({ samplers: ['euler', 'dpmpp_2m', 'ipndm'] })
  expect((await capabilities()).samplers).toEqual(['euler', 'dpmpp_2m_karras', 'dpmpp_2m'])
})

it('a checkpoint in a folder has its whole path for a name and, where no other has it, its base name', async () => {
  const models = ['sdxl/pony.safetensors', 'win\\dream.ckpt', 'a/twin.safetensors', 'b/twin.safetensors', 'top.ckpt']
  const { capabilities } = await givenBackend({ models: [...models, 'a/top.ckpt'] })
  expect((await capabilities()).models).toEqual([
    ...models,
    ...['a/top.ckpt', 'win/dream.ckpt', 'pony.safetensors', 'dream.ckpt'],
  ])
})
