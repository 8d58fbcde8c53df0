import { describe, expect, it } from 'vitest'
import { createPreviewBackend } from '../../src/inference/preview/preview-backend.js'
import * as a1111 from './a1111/given.js'
import { aRequest } from './a1111/given.js'
import * as comfyui from './comfyui/given.js'
import * as openai from './openai/given.js'
import * as sdcpp from './sdcpp/given.js'

const SAMPLER = 'dpmpp_2m_karras'

describe('an image says how the server was asked for it, in the server’s own words:', () => {
  it.each([
    ['a1111', ['a1111', 'v1.10.1', 'DPM++ 2M', 'Karras']],
    ['legacy', ['a1111', 'v1.10.1', 'DPM++ 2M Karras', null]],
    ['sdnext', ['sdnext', null, 'DPM++ 2M', 'karras']],
  ] as const)('A1111’s API, as %s', async (dialect, told) => {
    const { generate } = await a1111.givenBackend({ dialect })
    const images = await generate({ sampler: SAMPLER, seeds: [1, 2], height: 64 })
    expect(images.map(wordsOf)).toEqual([told, told])
  })

  it.each([
    ['new', '0.3.64'],
    ['old', null],
  ] as const)('ComfyUI, a %s one', async (version, told) => {
    const { generate } = await comfyui.givenBackend({ version })
    const images = await generate({ sampler: SAMPLER, seeds: [1, 2] })
    expect(images.map(wordsOf)).toEqual(Array(2).fill(['comfyui', told, 'dpmpp_2m', 'karras']))
  })

  it('stable-diffusion.cpp’s own API', async () => {
    const { generate } = await sdcpp.givenBackend()
    const [image] = await generate({ sampler: SAMPLER })
    expect(wordsOf(image)).toEqual(['sdcpp', 'stable-diffusion.cpp', 'dpm++2m', 'karras'])
  })

  it('OpenAI’s API, whose sampler the operator has declared', async () => {
    const { generate } = await openai.givenBackend()
    const [image] = await generate()
    expect(wordsOf(image)).toEqual(['openai', null, 'euler_a', null])
  })

  it('the preview', async () => {
    const { signal } = new AbortController()
    const [image] = await createPreviewBackend().generate(aRequest({ sampler: SAMPLER }), { signal })
    expect(wordsOf(image)).toEqual(['preview', null, SAMPLER, null])
  })
})

function wordsOf(image: Awaited<ReturnType<ReturnType<typeof createPreviewBackend>['generate']>>[number] | undefined) {
  const { backend, version, sampler, scheduler } = image?.madeWith ?? {}
  return [backend, version, sampler, scheduler]
}
