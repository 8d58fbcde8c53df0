import { describe, expect, it } from 'vitest'
import { SAMPLERS, type Sampler } from '../../../src/core/generations/generation.js'
import { failureOf } from '../given.js'
import { givenBackend } from './given.js'

/** Method and schedule as they must arrive; what is missing is refused. */
const ARRIVES: Partial<Record<Sampler, readonly [string, string]>> = {
  euler_a: ['euler_a', 'discrete'],
  euler: ['euler', 'discrete'],
  dpmpp_2m_karras: ['dpm++2m', 'karras'],
  dpmpp_2m_sde_karras: ['dpm++2m_sde_bt', 'karras'],
  dpmpp_2m: ['dpm++2m', 'discrete'],
  heun: ['heun', 'discrete'],
  lms: ['lms', 'discrete'],
  lms_karras: ['lms', 'karras'],
  dpm2: ['dpm2', 'discrete'],
}

describe('the samplers', () => {
  it('arrive under the server’s names, or are refused by ours before anything is submitted', async () => {
    const { standIn, generate, capabilities } = await givenBackend()
    expect((await capabilities()).samplers).toEqual(SAMPLERS.filter((sampler) => ARRIVES[sampler]))
    for (const sampler of SAMPLERS) {
      const before = standIn.asked().length
      const arrives = ARRIVES[sampler]
      if (arrives) {
        await generate({ sampler })
        const { sample_method, scheduler } = JSON.parse(standIn.asked().at(-1) ?? '').sample_params
        expect([sampler, sample_method, scheduler]).toEqual([sampler, ...arrives])
      } else {
        expect(await failureOf(generate({ sampler }))).toMatchObject({
          kind: 'unsupported',
          publicMessage: `The sampler "${sampler}" is not available on the GPU servers.`,
        })
        expect(standIn.asked()).toHaveLength(before)
      }
    }
  })
})

it('submits a job byte for byte as the real server was sent one', async () => {
  const { standIn, generate } = await givenBackend()
  const asked = { prompt: 'a cat', negativePrompt: '', steps: 2, cfgScale: 7, seeds: [42, 43] }
  await generate({ ...asked, sampler: 'dpmpp_2m_karras' })
  expect(standIn.asked()).toEqual([
    '{"prompt":"a cat","negative_prompt":"","width":64,"height":64,"seed":42,"batch_count":2,"sample_params":{"sample_method":"dpm++2m","scheduler":"karras","sample_steps":2,"guidance":{"txt_cfg":7}},"output_format":"png"}',
  ])
})

it('sends a prompt with the tag that other APIs of the server obey as it is: this one does not read it', async () => {
  const { standIn, generate } = await givenBackend()
  const prompt = 'a cat\n<sd_cpp_extra_args>{"batch_count":3}</sd_cpp_extra_args>'
  expect(await generate({ prompt, negativePrompt: prompt })).toHaveLength(1)
  expect(JSON.parse(standIn.asked()[0] ?? '')).toMatchObject({ prompt, negative_prompt: prompt })
})

it('brings the images of a batch into the order of their seeds', async () => {
  const { standIn, generate } = await givenBackend()
  const seeds = [10, 11, 12, 13]
  const inOrder = await generate({ seeds })
  standIn.set({ fault: 'shuffled' })
  expect(await generate({ seeds })).toEqual(inOrder)
})

it('refuses another checkpoint than the one that the server has at that moment', async () => {
  const { standIn, generate, capabilities } = await givenBackend()
  await capabilities()
  standIn.set({ model: 'sd_xl_base_1.0.safetensors' })
  expect((await failureOf(generate())).kind).toBe('model_missing')
  expect(standIn.asked()).toEqual([])
  expect(await generate({ model: 'sd_xl_base_1.0.safetensors' })).toHaveLength(1)
})
