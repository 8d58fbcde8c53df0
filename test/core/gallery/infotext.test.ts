import { describe, expect, it } from 'vitest'
import type { OwnImage } from '../../../src/core/gallery/gallery.js'
import { infotextOf } from '../../../src/core/gallery/infotext.js'
import { INFOTEXT_SAMPLERS, SAMPLERS } from '../../../src/core/generations/generation.js'
import { fieldsOf } from '../../../src/inference/drawn-image.js'

const image: OwnImage = {
  ...{ slug: 's', generationId: 'g', modelVersionId: 1, modelName: 'm', filename: 'pony.v6.safetensors' },
  ...{ prompt: 'a lighthouse, at dusk', negativePrompt: '', width: 832, height: 1216, steps: 30, cfgScale: 6.5 },
  ...{ sampler: 'dpmpp_2m_karras', seed: 4294967295, bytes: 1, sha256: '', createdAt: new Date(0) },
  ...{ askedWidth: 832, askedHeight: 1216 },
  isPrivate: false,
  hasThumbnail: true,
  madeOn: 'website',
  isFavourite: false,
  madeWith: { backend: 'a1111', version: 'v1.10.1', sampler: 'DPM++ 2M', scheduler: 'Karras' },
}

describe('an infotext', () => {
  it('is the prompt, the negative prompt if there is one, and a line of fields', () => {
    const fields =
      'Steps: 30, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 6.5, Seed: 4294967295, Size: 832x1216, ' +
      'Model: pony.v6, Version: v1.10.1'
    expect(infotextOf(image)).toBe(`a lighthouse, at dusk\n${fields}`)
    expect(infotextOf({ ...image, negativePrompt: 'fog\nrain' })).toBe(
      `a lighthouse, at dusk\nNegative prompt: fog\nrain\n${fields}`,
    )
  })

  it('has the size that was asked for, from which the model has enlarged it', () => {
    const enlarged = { ...image, width: 1664, height: 2432 }
    expect(fieldsOf(infotextOf(enlarged))('Size')).toBe('832x1216')
  })

  it('has A1111’s names whatever server drew it, and says which one did', () => {
    const madeWith = { backend: 'comfyui', version: '0.3.64', sampler: 'dpmpp_2m', scheduler: 'karras' }
    const said = fieldsOf(infotextOf({ ...image, madeWith }))
    expect([said('Sampler'), said('Schedule type'), said('Version')]).toEqual(['DPM++ 2M', 'Karras', 'comfyui 0.3.64'])
    expect(fieldsOf(infotextOf({ ...image, madeWith: { ...madeWith, version: null } }))('Version')).toBe('comfyui')
    expect(fieldsOf(infotextOf({ ...image, madeWith: null }))('Version')).toBe('Easel')
  })

  it('names each sampler differently, except for two that are the same', () => {
    const names = SAMPLERS.map((sampler) => INFOTEXT_SAMPLERS[sampler].join(' '))
    expect(new Set(names).size).toBe(SAMPLERS.length - 1)
    expect(INFOTEXT_SAMPLERS.dpm_sde_karras).toEqual(INFOTEXT_SAMPLERS.dpmpp_sde_karras)
  })

  it('quotes a model’s name that has commas and colons, and leaves out its folder', () => {
    const said = fieldsOf(infotextOf({ ...image, filename: 'models\\one, two: three.safetensors' }))
    expect(said('Model')).toBe('one, two: three')
    expect(said('Version')).toBe('v1.10.1')
  })
})
