import { describe, expect, it } from 'vitest'
import { until } from '../../support/until.js'
import { expectDiscreet, failureOf } from '../given.js'
import { givenBackend } from './given.js'

const SECRET = 'a secret prompt of the subscriber'
const exception = (error: string, errors: string) => ({ error, detail: '', body: '', errors })

it.each([
  [{ status: 422, body: { detail: `cannot parse "${SECRET}"` } }, 'invalid_request'],
  [{ status: 500, body: exception('ValueError', `bad token in ${SECRET}`) }, 'backend_fault'],
  [
    { status: 500, body: { error: 'server_error', message: '[json.exception.type_error.302] type' } },
    'invalid_request',
  ],
  [{ status: 404, body: { error: 'HTTPException', detail: 'Sampler not found' } }, 'unsupported'],
  [{ status: 400, body: { detail: 'Sampler not found' } }, 'unsupported'],
  [{ status: 404, body: { error: 'HTTPException', detail: 'Model not found' } }, 'model_missing'],
  [{ status: 500, body: exception('RuntimeError', "model 'x.safetensors' not found") }, 'model_missing'],
  [{ status: 500, body: exception('OutOfMemoryError', 'CUDA out of memory. Tried to allocate 2.00 GiB') }, 'oom'],
  [{ status: 500, body: exception('RuntimeError', 'MPS backend out of memory') }, 'oom'],
  [{ status: 500, body: exception('NansException', 'A tensor with all NaNs was produced in Unet.') }, 'backend_fault'],
  [{ status: 500, body: { error: 'generate_image returned no results' } }, 'backend_fault'],
  ['out_of_memory', 'oom'],
  [{ status: 200, body: { images: 'none', info: 1 } }, 'bad_output'],
  [{ status: 200, body: { images: [], info: '' } }, 'bad_output'],
] as const)('the answer %j to txt2img means %s', async (fault, kind) => {
  const { standIn, generate } = await givenBackend()
  standIn.set({ fault })
  const error = await failureOf(generate({ prompt: SECRET, sampler: 'unipc' }))
  expect(error.kind).toBe(kind)
  expectDiscreet(error, SECRET)
  if (kind === 'unsupported')
    expect(error.publicMessage).toBe('The sampler "unipc" is not available on the GPU servers.')
})

it('has SD.Next load the checkpoint where it could not load that of its configuration, and then draws', async () => {
  const { standIn, generate } = await givenBackend({ dialect: 'sdnext' })
  standIn.set({ loaded: false })
  const error = await failureOf(generate())
  expect(error.kind).toBe('backend_fault')
  expect(error.message).toContain('had no checkpoint loaded')
  expect(await generate()).toHaveLength(1)
})

it('takes the batch out of a reply with a grid before and extras after it', async () => {
  const { standIn, generate } = await givenBackend()
  const plain = await generate({ seeds: [1, 2] })
  standIn.set({ fault: 'grid_and_extra' })
  expect(await generate({ seeds: [1, 2] })).toEqual(plain)
})

it('takes images as data URLs too', async () => {
  const { standIn, generate } = await givenBackend()
  const plain = await generate()
  standIn.set({ fault: 'data_urls' })
  expect(await generate()).toEqual(plain)
})

describe('the progress', () => {
  const asks = (standIn: { journal: readonly { path: string }[] }, withImage: boolean) =>
    standIn.journal.filter(({ path }) => path.endsWith(`/progress?skip_current_image=${!withImage}`)).length

  it.each(['a1111', 'sdnext'] as const)(
    'of %s brings what is drawn so far, which is asked for more seldom than the progress',
    async (dialect) => {
      const { standIn, generate } = await givenBackend({ dialect })
      standIn.set({ held: true, currentImage: Buffer.from('half an image').toString('base64') })
      const shown: string[] = []
      const images = generate({}, { onPreview: (image) => shown.push(image.toString()) })
      await until(() => shown.length > 1, 'two previews')
      standIn.set({ held: false })
      await images
      expect(new Set(shown)).toEqual(new Set(['half an image']))
      expect(asks(standIn, false)).toBeGreaterThan(2 * asks(standIn, true))
    },
  )

  it('fails no inference when the server does not tell it', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true })
    const images = generate()
    await until(() => standIn.jobs() > 0, 'an inference')
    standIn.set({ fault: { status: 500 }, scope: 'all' })
    const before = asks(standIn, false)
    await until(() => asks(standIn, false) > before + 1, 'two questions that failed')
    standIn.set({ held: false })
    expect(await images).toHaveLength(1)
  })
})
