import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { failureOf } from '../given.js'
import { backend, draw, request, signal } from './preview-drawing.js'

/** Mean difference of two images of one size, 0 to 255. */
async function difference(a: Buffer, b: Buffer) {
  const [left, right] = await Promise.all([a, b].map((bytes) => sharp(bytes).raw().toBuffer()))
  if (!left || left.length !== right?.length) return 255
  return left.reduce((sum, value, i) => sum + Math.abs(value - (right[i] as number)), 0) / left.length
}

describe('the preview backend', () => {
  it('draws with any model, any sampler and any seed', async () => {
    expect(await backend.capabilities(signal)).toEqual({
      models: null,
      samplers: SAMPLERS,
      maxSeed: 4294967295,
      sizeMultiple: 8,
    })
    expect(backend.name).toBe('preview:')
  })

  it.each([
    [256, 256],
    [832, 1216],
  ])('draws %i × %i pixels of many colours', async (width, height) => {
    const bytes = await draw({ width, height, prompt: 'mountains' })
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width, height, channels: 3, depth: 'uchar' })
    const thumbnail = await sharp(bytes).resize(64, 64, { fit: 'fill' }).png().toBuffer()
    const { channels } = await sharp(thumbnail).stats()
    for (const { stdev } of channels) expect(stdev).toBeGreaterThan(10)
  })

  it('draws the same bytes for the same request', async () => {
    expect(await draw()).toEqual(await draw({ attemptId: 'd3b07384-d113-4ec6-a7d0-0a3a5fbd2f1c' }))
  })

  it.each<[string, Partial<typeof request>]>([
    ['prompt', { prompt: 'a lighthouse at dawn' }],
    ['negative prompt', { negativePrompt: 'blurry' }],
    ['model', { model: 'noobaiXL.safetensors' }],
    ['seed', { seeds: [43] }],
    ['steps', { steps: 21 }],
    ['guidance', { cfgScale: 7.5 }],
    ['sampler', { sampler: 'euler' }],
    ['width', { width: 72 }],
    ['height', { height: 72 }],
  ])('draws another image for another %s', async (_, change) => {
    const small = { width: 64, height: 64 }
    expect(await difference(await draw(small), await draw({ ...small, ...change }))).toBeGreaterThan(0.5)
  })

  it('draws each sampler in a touch of its own', async () => {
    const images = await Promise.all(
      SAMPLERS.map((sampler) => draw({ sampler, prompt: 'desert', width: 64, height: 64 })),
    )
    expect(new Set(images.map((bytes) => bytes.toString('base64'))).size).toBe(SAMPLERS.length)
  })

  it('shows each image of a batch but the last, while it draws the next one', async () => {
    const shown: Buffer[] = []
    const batch = { ...request, width: 64, height: 64, seeds: [1, 2, 3] }
    const images = await backend.generate(batch, { signal, onPreview: (image) => shown.push(image) })
    expect(shown).toEqual(images.slice(0, -1).map(({ bytes }) => bytes))
  })

  it('draws any text as a prompt', async () => {
    for (const prompt of ['', '🎨🎨', '灯台と夕日', 'x'.repeat(2000), '\ud800'])
      expect(await sharp(await draw({ prompt, width: 64, height: 64 })).metadata()).toMatchObject({ width: 64 })
  })

  it('marks every image as a preview', async () => {
    for (const prompt of ['snow, day', 'city at night']) {
      const mark = sharp(await draw({ prompt, width: 256 })).extract({ left: 207, top: 241, width: 41, height: 7 })
      const bits = await mark.greyscale().raw().toBuffer()
      const rows = Array.from({ length: 7 }, (_, y) => bits.subarray(y * 41, y * 41 + 41))
      expect(rows.map((row) => [...row].map((value) => (value > 186 ? '#' : '.')).join(''))).toEqual([
        '####..####..#####.#...#..###..#####.#...#',
        '#...#.#...#.#.....#...#...#...#.....#...#',
        '#...#.#...#.#.....#...#...#...#.....#...#',
        '####..####..####..#...#...#...####..#.#.#',
        '#.....#.#...#.....#...#...#...#.....#.#.#',
        '#.....#..#..#......#.#....#...#.....##.##',
        '#.....#...#.#####...#....###..#####.#...#',
      ])
    }
  })
})

describe('progress of a preview', () => {
  it('rises step by step over the whole batch and ends at 1', async () => {
    const reported: number[] = []
    await backend.generate(
      { ...request, steps: 8, seeds: [1, 2] },
      { signal, onProgress: (done) => reported.push(done) },
    )
    expect(reported).toEqual([...new Set(reported)].sort((a, b) => a - b))
    expect(reported.every((done) => Number.isInteger(done * 16))).toBe(true)
    expect(reported.length).toBeGreaterThan(8)
    expect(reported.at(-1)).toBe(1)
  })

  it('lets the process do other things while it draws', async () => {
    let turns = 0
    let done = false
    const turn = () => {
      turns++
      if (!done) setImmediate(turn)
    }
    setImmediate(turn)
    await draw({ width: 832, height: 1216 })
    done = true
    expect(turns).toBeGreaterThan(5)
  })
})

describe('canceling a preview', () => {
  it('stops in the middle of an image', async () => {
    const controller = new AbortController()
    let last = 0
    const onProgress = (done: number) => {
      last = done
      if (done > 0.1) controller.abort()
    }
    const large = { ...request, width: 2048, height: 1536, seeds: [1, 2, 3, 4] }
    expect((await failureOf(backend.generate(large, { signal: controller.signal, onProgress }))).kind).toBe('canceled')
    expect(last).toBeLessThan(0.5)
  })
})
