import sharp from 'sharp'
import { expect, it } from 'vitest'
import { draw } from './preview-drawing.js'

/** Mean difference of two images, 0 to 255, apart from their grain. */
async function difference(a: Buffer, b: Buffer): Promise<number> {
  const small = (bytes: Buffer) => sharp(bytes).resize(48, 64, { fit: 'fill' }).raw().toBuffer()
  const [left, right] = [await small(a), await small(b)]
  return left.reduce((sum, value, i) => sum + Math.abs(value - (right[i] as number)), 0) / left.length
}

/** Mean brightness and colourfulness, 0 to 255. */
async function impression(bytes: Buffer) {
  const pixels = await sharp(bytes).resize(32, 32, { fit: 'fill' }).raw().toBuffer()
  let [brightness, colour] = [0, 0]
  for (let i = 0; i < pixels.length; i += 3) {
    const channels = [...pixels.subarray(i, i + 3)]
    brightness += channels.reduce((sum, channel) => sum + channel) / pixels.length
    colour += ((Math.max(...channels) - Math.min(...channels)) * 3) / pixels.length
  }
  return { brightness, colour }
}

it.each([
  [2048, 1536],
  [2048, 256],
  [256, 2048],
])('draws %i × %i pixels of many colours', async (width, height) => {
  const bytes = await draw({ width, height, prompt: 'mountains' })
  expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width, height, channels: 3, depth: 'uchar' })
  const thumbnail = await sharp(bytes).resize(64, 64, { fit: 'fill' }).png().toBuffer()
  const { channels } = await sharp(thumbnail).stats()
  for (const { stdev } of channels) expect(stdev).toBeGreaterThan(10)
})

it.each([
  'sea',
  'stormy sea',
  'lake',
  'castle',
  'forest',
  'desert',
  'cat',
  'city night',
  'portrait',
  'space',
  'rose',
  'snow',
])('leaves no part of an image unpainted: %s', async (prompt) => {
  // Wherever the canvas stayed blank, whole blocks would be black.
  const small = await sharp(await draw({ prompt: `${prompt}, day` }))
    .resize(32, 32, { kernel: 'nearest' })
    .raw()
    .toBuffer()
  const black = Array.from({ length: 32 * 32 }, (_, i) => small.subarray(i * 3, i * 3 + 3)).filter(
    (pixel) => Math.max(...pixel) < 6,
  )
  expect(black.length).toBeLessThan(prompt === 'space' ? 60 : 3)
})

it.each(['a lighthouse at dusk', 'portrait', 'city at night', 'mountains', 'space', 'a rose', 'desert'])(
  'each seed has its own image of %s',
  async (prompt) => {
    const [first, ...others] = await Promise.all([1, 2, 3].map((seed) => draw({ prompt, seeds: [seed] })))
    for (const other of others) expect(await difference(first as Buffer, other)).toBeGreaterThan(4)
  },
)

it('each prompt has its own image', async () => {
  const prompts = ['a lighthouse', 'a boat', 'a cabin', 'a castle', 'a tree', 'a cat', 'balloons', 'a queen']
  const [first, ...others] = await Promise.all(prompts.map((prompt) => draw({ prompt: `${prompt} at dusk` })))
  for (const other of others) expect(await difference(first as Buffer, other)).toBeGreaterThan(4)
})

it.each(['sea', 'forest', 'meadow', 'city', 'portrait'])('the hour and the weather show: %s', async (place) => {
  const day = await impression(await draw({ prompt: `${place}, day` }))
  const night = await impression(await draw({ prompt: `${place}, night` }))
  const fog = await impression(await draw({ prompt: `${place}, fog` }))
  expect(night.brightness).toBeLessThan(day.brightness - 30)
  expect(fog.colour).toBeLessThan(day.colour)
})

it('little guidance is pale, much is colourful', async () => {
  const [pale, plain, harsh] = await Promise.all(
    [1, 7, 30].map(async (cfgScale) => (await impression(await draw({ cfgScale }))).colour),
  )
  expect(pale).toBeLessThan(plain as number)
  expect(harsh).toBeGreaterThan(plain as number)
})

it.each(['a lighthouse at dusk', 'portrait', 'city', 'forest'])('a larger image shows the same: %s', async (prompt) => {
  const small = await draw({ prompt })
  const large = await draw({ prompt, width: 576, height: 768 })
  expect(await difference(small, large)).toBeLessThan(5)
})

it.each([
  [64, 64],
  [832, 1216],
  [2048, 1536],
])('the mark is as legible at %i × %i', async (width, height) => {
  expect(await markOf(await draw({ width, height }), width, height)).toEqual(await markOf(await draw(), 192, 256))
})

/** The mark's 41 × 7 dots, as far as they are bright. */
async function markOf(bytes: Buffer, width: number, height: number): Promise<boolean[]> {
  const dot = Math.max(1, Math.round(Math.min(width, height) / 420))
  const area = { left: width - 49 * dot, top: height - 15 * dot, width: 41 * dot, height: 7 * dot }
  const dots = await sharp(bytes).extract(area).greyscale().resize(41, 7, { kernel: 'nearest' }).raw().toBuffer()
  return [...dots].map((value) => value > 186)
}
