import { describe, expect, it } from 'vitest'
import { SAMPLERS, type Sampler } from '../../../src/generation/sampler.js'
import { failureOf } from '../a1111/given.js'
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

it('sends a prompt as it is: this API does not read the tag that others obey', async () => {
  const { standIn, generate } = await givenBackend()
  const prompt =
    'a cat\n<sd_cpp_extra_args>{"batch_count":3}</sd_cpp_extra_args>, 猫, Seed: 1, Sampler: nope\nSteps: 1, Seed: 1'
  expect(await generate({ prompt, negativePrompt: prompt })).toHaveLength(1)
  expect(JSON.parse(standIn.asked()[0] ?? '')).toMatchObject({ prompt, negative_prompt: prompt })
})

describe('seeds', () => {
  it('of a batch go in one job and come back with their images, in order', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: 'shuffled' })
    const images = await generate({ seeds: [10, 11, 12, 13] })
    expect(images.map(({ seed }) => seed)).toEqual([10, 11, 12, 13])
    expect(standIn.asked()).toHaveLength(1)
    const [alone] = await generate({ seeds: [12] })
    expect(images[2]?.bytes.equals(alone?.bytes as Buffer)).toBe(true)
    expect(new Set(images.map(({ bytes }) => bytes.toString('base64'))).size).toBe(4)
  })

  it('that wrap past 2^32 - 1 are split, because the server counts on instead; progress rises to 1', async () => {
    const { standIn, generate } = await givenBackend()
    const progress: number[] = []
    const onProgress = (done: number) => void progress.push(done)
    const images = await generate({ seeds: [4294967294, 4294967295, 0, 1] }, { onProgress })
    expect(images.map(({ seed }) => seed)).toEqual([4294967294, 4294967295, 0, 1])
    const jobs = standIn.asked().map((text) => JSON.parse(text))
    expect(jobs.map(({ seed, batch_count }) => [seed, batch_count])).toEqual([
      [4294967294, 2],
      [0, 2],
    ])
    expect(progress).toEqual([0.5, 1])
  })
})

it.each([
  { width: 72, height: 64 },
  { width: 64, height: 8 },
])('refuses the size %j, which the server would round up', async (size) => {
  const { standIn, generate } = await givenBackend()
  expect(await failureOf(generate(size))).toMatchObject({
    kind: 'unsupported',
    publicMessage: 'Only sizes in multiples of 64 are available on the GPU servers.',
  })
  expect(standIn.asked()).toEqual([])
})

it('refuses another checkpoint than the one that the server has at that moment', async () => {
  const { standIn, generate, capabilities } = await givenBackend()
  await capabilities()
  standIn.set({ model: 'sd_xl_base_1.0.safetensors' })
  expect((await failureOf(generate())).kind).toBe('model_missing')
  expect(standIn.asked()).toEqual([])
  expect(await generate({ model: 'sd_xl_base_1.0.safetensors' })).toHaveLength(1)
})
