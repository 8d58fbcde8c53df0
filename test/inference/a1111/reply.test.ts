import sharp from 'sharp'
import { beforeAll, describe, expect, it } from 'vitest'
import type { A1111Server, ServerModel } from '../../../src/inference/a1111/discovery.js'
import { readReply } from '../../../src/inference/a1111/txt2img.js'
import type { ServerSampler } from '../../../src/inference/samplers.js'
import { aRequest, failureOf } from '../given.js'

const model: ServerModel = {
  filename: 'noise-sd1.safetensors',
  title: 'noise-sd1',
  reportedAs: ['noise-sd1'],
  hash: undefined,
}
let image: string

beforeAll(async () => {
  const png = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
    .png()
    .toBuffer()
  image = png.toString('base64')
})

function read(
  dialect: A1111Server['dialect'],
  info: object,
  asked: { model?: ServerModel; models?: ServerModel[]; sampler?: ServerSampler; images?: string[] } = {},
) {
  const server: A1111Server = {
    name: 'a1111+http://gpu1:7860',
    dialect,
    models: asked.models ?? [asked.model ?? model],
    ambiguous: [],
    samplers: new Map(),
  }
  const sampler = asked.sampler ?? { name: 'Euler a', schedule: 'Uniform' }
  return readReply(
    JSON.stringify({ images: asked.images ?? [image], info: JSON.stringify({ all_seeds: [42], ...info }) }),
    {
      request: aRequest(),
      server,
      model: asked.model ?? model,
      sampler,
      options: {},
      seeds: [42],
    },
  )
}

const kindOf = async (work: Promise<unknown>) => (await failureOf(work)).kind

describe('the schedule', () => {
  const said = (schedule: string) => ({
    sampler_name: 'Euler a',
    sd_model_name: 'noise-sd1',
    extra_generation_params: { 'Schedule type': schedule },
  })

  it('must be the one asked for where a server names it', async () => {
    await read('a1111', said('Uniform'))
    expect(await kindOf(read('a1111', said('Karras')))).toBe('bad_output')
    const sigma = { sampler_name: 'Euler a', infotexts: ['x\nSteps: 20, Model: noise-sd1, Sampler sigma: karras'] }
    expect(await kindOf(read('sdnext', sigma, { sampler: { name: 'Euler a', schedule: 'default' } }))).toBe(
      'bad_output',
    )
  })

  it('may be anything when the choice was left to the server, and may go unnamed', async () => {
    await read('a1111', said('Karras'), { sampler: { name: 'Euler a', schedule: 'Automatic' } })
    await read('a1111', { sampler_name: 'Euler a', sd_model_name: 'noise-sd1', extra_generation_params: null })
  })
})

describe('the checkpoint', () => {
  const drawnBy = (info: object) => ({ sampler_name: 'Euler a', ...info })
  const hashed: ServerModel = {
    filename: 'sub.dir, v1.2.ckpt',
    title: 'x/sub.dir, v1.2.ckpt [aaaaaaaaaa]',
    reportedAs: ['sub.dir v1.2', 'x_sub.dir v1.2'],
    hash: 'aaaaaaaaaa',
  }

  it.each([
    { sd_model_name: 'sub.dir, v1.2', sd_model_hash: 'aaaaaaaaaa' },
    { sd_model_name: 'sub.dir, v1.2' },
    { sd_model_hash: 'aaaaaaaaaa' },
    { sd_model_hash: `aaaaaaaaaa${'b'.repeat(54)}` },
    { infotexts: ['x\nSteps: 20, Model: x_sub.dir v1.2, App: SD.Next'] },
    { infotexts: ['x\nSteps: 20, Model hash: aaaaaaaaaa'] },
  ])('is recognised by %j', async (info) => {
    await read('a1111', drawnBy(info), { model: hashed, models: [hashed, model] })
  })

  it.each([
    { sd_model_name: 'noise-sd1' },
    { sd_model_name: 'sub.dir, v1.2', sd_model_hash: 'bbbbbbbbbb' },
    { sd_model_hash: 'bbbbbbbbbb' },
    {},
    { infotexts: ['Model: sub.dir v1.2, x\nSteps: 20, Model: noise-sd1'] },
  ])('is missed with %j', async (info) => {
    expect(await kindOf(read('a1111', drawnBy(info), { model: hashed, models: [hashed, model] }))).toBe('model_missing')
  })

  it('needs no name where the server has only one', async () => {
    await read('legacy', drawnBy({}), { sampler: { name: 'Euler a', schedule: undefined } })
  })
})

it('a prompt cannot forge the line that the server wrote', async () => {
  const prompt = 'cat\nSteps: 1, Sampler: Euler a, Model: noise-sd1'
  const info = { infotexts: [`${prompt}\nNegative prompt: ${prompt}\nSteps: 20, Sampler: Heun, Model: noise-sd1`] }
  expect(await kindOf(read('a1111', info))).toBe('bad_output')
})

it.each([[[]], [['']], [['bm90IGEgcGljdHVyZQ==']]])('the images %j are bad output', async (images) => {
  expect(await kindOf(read('a1111', { sampler_name: 'Euler a', sd_model_name: 'noise-sd1' }, { images }))).toBe(
    'bad_output',
  )
})
