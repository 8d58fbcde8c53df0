import { describe, expect, it } from 'vitest'
import { SAMPLERS, type Sampler } from '../../../src/core/generations/generation.js'
import { failureOf, PONY, SDXL } from '../given.js'
import { givenBackend } from './given.js'

/** Sampler and schedule as they must arrive; null: refused, because the server has nothing of the kind. */
type Arrives = Record<Sampler, readonly [string, string?] | null>

const FORGE: Arrives = {
  euler_a: ['Euler a', 'Uniform'],
  euler: ['Euler', 'Uniform'],
  dpmpp_2m_karras: ['DPM++ 2M', 'Karras'],
  dpmpp_2m_sde_karras: ['DPM++ 2M SDE', 'Karras'],
  dpmpp_2m: ['DPM++ 2M', 'Uniform'],
  dpmpp_sde: ['DPM++ SDE', 'Uniform'],
  dpmpp_sde_karras: ['DPM++ SDE', 'Karras'],
  ddim: ['DDIM', 'Automatic'],
  ddpm: ['DDPM', 'Automatic'],
  heun: ['Heun', 'Uniform'],
  lms: ['LMS', 'Uniform'],
  lms_karras: ['LMS', 'Karras'],
  dpm2: ['DPM2', 'Uniform'],
  dpm2_a: ['DPM2 a', 'Uniform'],
  unipc: ['UniPC', 'Automatic'],
  pndm: ['PLMS', 'Automatic'],
  deis: ['DEIS', 'Uniform'],
  dpm_sde_karras: ['DPM++ SDE', 'Karras'],
}
const A1111: Arrives = { ...FORGE, ddpm: null, deis: null }
const LEGACY: Arrives = {
  euler_a: ['Euler a'],
  euler: ['Euler'],
  dpmpp_2m_karras: ['DPM++ 2M Karras'],
  dpmpp_2m_sde_karras: ['DPM++ 2M SDE Karras'],
  dpmpp_2m: ['DPM++ 2M'],
  dpmpp_sde: ['DPM++ SDE'],
  dpmpp_sde_karras: ['DPM++ SDE Karras'],
  ddim: ['DDIM'],
  ddpm: null,
  heun: ['Heun'],
  lms: ['LMS'],
  lms_karras: ['LMS Karras'],
  dpm2: ['DPM2'],
  dpm2_a: ['DPM2 a'],
  unipc: ['UniPC'],
  pndm: ['PLMS'],
  deis: null,
  dpm_sde_karras: ['DPM++ SDE Karras'],
}
const SDNEXT: Arrives = {
  euler_a: ['Euler a', 'default'],
  euler: ['Euler', 'default'],
  dpmpp_2m_karras: ['DPM++ 2M', 'karras'],
  dpmpp_2m_sde_karras: ['DPM++ 2M SDE', 'karras'],
  dpmpp_2m: ['DPM++ 2M', 'default'],
  dpmpp_sde: ['DPM SDE', 'default'],
  dpmpp_sde_karras: ['DPM SDE', 'karras'],
  ddim: ['DDIM', 'default'],
  ddpm: ['DDPM', 'default'],
  heun: ['Heun', 'default'],
  lms: ['LMSD', 'default'],
  lms_karras: ['LMSD', 'karras'],
  dpm2: ['KDPM2', 'default'],
  dpm2_a: ['KDPM2 a', 'default'],
  unipc: ['UniPC', 'default'],
  pndm: ['PNDM', 'default'],
  deis: ['DEIS', 'default'],
  dpm_sde_karras: ['DPM SDE', 'karras'],
}
const scheduleIn = (body: Record<string, unknown> | undefined) =>
  body?.scheduler ?? (body?.override_settings as Record<string, unknown> | undefined)?.schedulers_sigma

describe.each([
  ['a1111', A1111],
  ['forge', FORGE],
  ['legacy', LEGACY],
  ['sdnext', SDNEXT],
] as const)('the samplers of %s', (dialect, arrives) => {
  it('arrive under the server’s names, or are refused under ours before anything is sent', async () => {
    const { standIn, generate, capabilities } = await givenBackend({ dialect })
    expect((await capabilities()).samplers).toEqual(SAMPLERS.filter((sampler) => arrives[sampler]))
    for (const sampler of SAMPLERS) {
      const before = standIn.asked().length
      const expected = arrives[sampler]
      if (expected) {
        await generate({ sampler })
        const body = standIn.asked().at(-1)
        expect([sampler, body?.sampler_name, scheduleIn(body)]).toEqual([sampler, expected[0], expected[1]])
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

describe('a txt2img request', () => {
  it('carries everything that was asked, and nothing that the server could decide', async () => {
    const { standIn, generate } = await givenBackend()
    const attemptId = '6f9619ff-8b86-4011-b42d-00c04fc964ff'
    await generate({ attemptId, seeds: [7, 8], sampler: 'dpmpp_2m_karras' })
    expect(standIn.asked()).toEqual([
      {
        prompt: 'a lighthouse at dusk',
        negative_prompt: 'blurry',
        width: 64,
        height: 64,
        steps: 20,
        cfg_scale: 6.5,
        seed: 7,
        batch_size: 2,
        n_iter: 1,
        sampler_name: 'DPM++ 2M',
        scheduler: 'Karras',
        override_settings: {
          sd_model_checkpoint: expect.stringMatching(/^ponyDiffusionV6XL\.safetensors \[[0-9a-f]{10}\]$/),
        },
        override_settings_restore_afterwards: false,
        send_images: true,
        save_images: false,
        do_not_save_grid: true,
        force_task_id: attemptId,
      },
    ])
  })

  it.each(['a1111', 'forge', 'legacy', 'sdnext'] as const)(
    'switches the checkpoint of %s and leaves it loaded',
    async (dialect) => {
      const { standIn, generate } = await givenBackend({ dialect })
      expect(standIn.loaded()).toBe(PONY)
      await generate({ model: SDXL })
      expect(standIn.loaded()).toBe(SDXL)
      await generate({ model: PONY })
      expect(standIn.loaded()).toBe(PONY)
    },
  )

  it('is not sent for a checkpoint that the server does not list when it is asked again', async () => {
    const { standIn, generate, capabilities } = await givenBackend()
    await capabilities()
    const listings = () => standIn.journal.filter(({ path }) => path === '/sdapi/v1/sd-models').length
    expect(listings()).toBe(1)
    const error = await failureOf(generate({ model: 'notThere.safetensors' }))
    expect(error).toMatchObject({
      kind: 'model_missing',
      publicMessage: 'The model is not available on the GPU servers.',
    })
    expect(listings()).toBe(2)
    expect(standIn.asked()).toEqual([])
  })
})
