import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { SAMPLERS, type Sampler } from '../../../src/core/generations/generation.js'
import { graphOf } from '../../../src/inference/comfyui/graph.js'
import { aRequest, failureOf, PONY } from '../given.js'
import { givenBackend } from './given.js'
import recorded from './recorded.json' with { type: 'json' }

type Body = { prompt: Record<string, { class_type: string; inputs: Record<string, unknown> }> }

/** Sampler and scheduler as they must arrive; null: refused, because the server has only a neighbour of it. */
const ARRIVES: Record<Sampler, readonly [string, string] | null> = {
  euler_a: ['euler_ancestral', 'normal'],
  euler: ['euler', 'normal'],
  dpmpp_2m_karras: ['dpmpp_2m', 'karras'],
  dpmpp_2m_sde_karras: ['dpmpp_2m_sde', 'karras'],
  dpmpp_2m: ['dpmpp_2m', 'normal'],
  dpmpp_sde: ['dpmpp_sde', 'normal'],
  dpmpp_sde_karras: ['dpmpp_sde', 'karras'],
  ddim: ['ddim', 'ddim_uniform'],
  ddpm: ['ddpm', 'normal'],
  heun: ['heun', 'normal'],
  lms: ['lms', 'normal'],
  lms_karras: ['lms', 'karras'],
  dpm2: ['dpm_2', 'normal'],
  dpm2_a: ['dpm_2_ancestral', 'normal'],
  unipc: ['uni_pc', 'normal'],
  pndm: null,
  deis: ['deis', 'normal'],
  dpm_sde_karras: ['dpmpp_sde', 'karras'],
}

describe('a prompt', () => {
  it('for one image is the graph that a real server drew, byte for byte', () => {
    const [entry] = Object.values(recorded.history)
    const ran = entry?.prompt[2] as Body['prompt']
    const request = aRequest({
      ...{ prompt: 'a lighthouse', negativePrompt: 'blurry', width: 64, height: 64, steps: 2, cfgScale: 7 },
      seeds: [42],
    })
    const sampler = { name: 'euler_ancestral', schedule: 'normal' }
    const { nodes } = graphOf(request, { checkpoint: 'noise-sd15.safetensors' }, sampler)
    // But for the node that keeps the image.
    expect(JSON.stringify({ ...nodes, easel_image_0: undefined })).toBe(JSON.stringify({ ...ran, '9': undefined }))
  })

  it('for several loads and encodes once, and has a sampler with its own seed for each', async () => {
    const { standIn, generate } = await givenBackend()
    const attemptId = randomUUID()
    await generate({ attemptId, seeds: [7, 8], sampler: 'dpmpp_2m_karras' })
    const shared = { model: ['4', 0], positive: ['6', 0], negative: ['7', 0], latent_image: ['5', 0] }
    const settings = { steps: 20, cfg: 6.5, sampler_name: 'dpmpp_2m', scheduler: 'karras', denoise: 1 }
    expect(standIn.asked()).toEqual([
      {
        client_id: expect.not.stringMatching(/^easel:/),
        extra_data: { easel_attempt: 'gen_test-1', preview_method: 'auto' },
        prompt_id: attemptId,
        prompt: {
          '3': { class_type: 'KSampler', inputs: { seed: 7, ...settings, ...shared } },
          '4': { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: PONY } },
          '5': { class_type: 'EmptyLatentImage', inputs: { width: 64, height: 64, batch_size: 1 } },
          '6': { class_type: 'CLIPTextEncode', inputs: { text: 'a lighthouse at dusk', clip: ['4', 1] } },
          '7': { class_type: 'CLIPTextEncode', inputs: { text: 'blurry', clip: ['4', 1] } },
          '8': { class_type: 'VAEDecode', inputs: { samples: ['3', 0], vae: ['4', 2] } },
          easel_image_0: { class_type: 'PreviewImage', inputs: { images: ['8', 0], easel_attempt: attemptId } },
          '3_1': { class_type: 'KSampler', inputs: { seed: 8, ...settings, ...shared } },
          '8_1': { class_type: 'VAEDecode', inputs: { samples: ['3_1', 0], vae: ['4', 2] } },
          easel_image_1: { class_type: 'PreviewImage', inputs: { images: ['8_1', 0], easel_attempt: attemptId } },
        },
      },
    ])
  })

  it('has the samplers under the server’s names, or is refused by us before anything is sent', async () => {
    const { standIn, generate } = await givenBackend()
    for (const sampler of SAMPLERS) {
      const expected = ARRIVES[sampler]
      const before = standIn.asked().length
      if (expected) {
        await generate({ sampler, steps: 1 })
        const { prompt } = standIn.asked().at(-1) as Body
        const { sampler_name, scheduler } = prompt['3']?.inputs ?? {}
        expect([sampler, sampler_name, scheduler]).toEqual([sampler, ...expected])
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

describe('the checkpoint', () => {
  it.each([
    ['sdxl/pony.safetensors', 'sdxl/pony.safetensors'],
    ['pony.safetensors', 'sdxl/pony.safetensors'],
    ['win/dream.ckpt', 'win\\dream.ckpt'],
    ['dream.ckpt', 'win\\dream.ckpt'],
    ['top.ckpt', 'top.ckpt'],
  ])('that the catalog calls %s is asked for as %s', async (model, spelled) => {
    const { standIn, generate } = await givenBackend({
      models: ['sdxl/pony.safetensors', 'win\\dream.ckpt', 'top.ckpt', 'a/top.ckpt', 'a/twin.ckpt', 'b/twin.ckpt'],
    })
    await generate({ model })
    expect((standIn.asked()[0] as Body).prompt['4']?.inputs.ckpt_name).toBe(spelled)
    expect((await failureOf(generate({ model: 'twin.ckpt' }))).kind).toBe('model_missing')
  })

  it('that was not listed before is looked for again, then said to be missing', async () => {
    const { standIn, generate, capabilities } = await givenBackend()
    await capabilities()
    const listings = () => standIn.journal.filter(({ path }) => path === '/models/checkpoints').length
    expect(listings()).toBe(1)
    expect(await failureOf(generate({ model: 'notThere.safetensors' }))).toMatchObject({
      kind: 'model_missing',
      publicMessage: 'The model is not available on the GPU servers.',
    })
    expect(listings()).toBe(2)
    expect(standIn.asked()).toEqual([])
  })
})

describe('files', () => {
  it('of an attempt are its own, even when the server has drawn the same before', async () => {
    const { standIn, generate } = await givenBackend()
    const first = await generate({ seeds: [1, 2] })
    const second = await generate({ seeds: [1, 2] })
    expect(second.map(({ bytes }) => pixels(bytes))).toEqual(first.map(({ bytes }) => pixels(bytes)))
    expect(standIn.files.size).toBe(4)
  })

  const left = async ({ files, url }: { files: Map<string, Buffer>; url: string }, id: string) => ({
    places: new Set([...files.keys()].map((name) => name.split('/')[0])),
    bytes: [...files.values()].map(({ length }) => length),
    history: await (await fetch(`${url}/history/${id}`)).json(),
  })

  it('stay nowhere on the server, nor does the prompt in its history', async () => {
    const { standIn, generate } = await givenBackend()
    const attemptId = randomUUID()
    await generate({ attemptId, seeds: [1, 2] })
    // It is erased while the images are published.
    const nothing = { places: new Set(['temp']), bytes: [0, 0], history: {} }
    await expect.poll(() => left(standIn, attemptId)).toEqual(nothing)
  })

  it('stay nowhere either when the prompt is canceled or its image is not what was asked for', async () => {
    const { standIn, generate } = await givenBackend()
    // The stand-in draws the last image first.
    standIn.set({ held: 1 })
    const controller = new AbortController()
    const attemptId = randomUUID()
    const onProgress = (done: number) => void (done > 0.6 && controller.abort())
    await failureOf(generate({ attemptId, seeds: [1, 2] }, { signal: controller.signal, onProgress }))
    expect(await left(standIn, attemptId)).toEqual({ places: new Set(['temp']), bytes: [0], history: {} })
    standIn.set({ held: false, run: 'wrong_size' })
    await failureOf(generate({ attemptId }))
    expect(await left(standIn, attemptId)).toEqual({ places: new Set(['temp']), bytes: [0, 0], history: {} })
  })

  it('that cannot be emptied cost nobody the image', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: { status: 405 }, on: 'POST /upload' })
    expect(await generate()).toHaveLength(1)
  })
})

it('goes to a server that is known without a question before it, while the GPU waits', async () => {
  const { standIn, generate } = await givenBackend()
  await generate()
  const calls = () => standIn.journal.map(({ method, path }) => `${method} ${path}`)
  // Its last requests, which go out together.
  await expect.poll(calls).toEqual(expect.arrayContaining(['POST /upload/image', 'POST /history']))
  const before = calls().length
  await generate()
  expect(
    calls()
      .slice(before)
      .filter((call) => !call.startsWith('GET /ws?'))[0],
  ).toBe('POST /prompt')
})

/** The image without the prompt that the server wrote into it. */
function pixels(png: Buffer | undefined): Buffer {
  const bytes = png ?? Buffer.alloc(0)
  return bytes.subarray(bytes.indexOf('IDAT'))
}
