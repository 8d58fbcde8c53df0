import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { finishImage } from '../../src/images/finish-image.js'
import { withInfotext } from '../../src/images/png-text.js'
import { pngChunks, xmpOf } from '../support/png-chunks.js'

const size = { width: 16, height: 8 }
const drawn = sharp({
  create: { ...size, channels: 3, background: 'teal', noise: { type: 'gaussian', mean: 128, sigma: 30 } },
})
const published = drawn
  .png()
  .toBuffer()
  .then((bytes) => finishImage(bytes, { ...size, seed: 7, model: 'Pony' }))

describe('an image with an infotext', () => {
  it.each([
    ['ASCII', 'tEXt', 'a lighthouse\nSteps: 20'],
    ['Latin-1', 'iTXt', 'un café'],
    ['any script', 'iTXt', '灯台 🌊\nNegative prompt: 霧\nSteps: 20'],
  ])('holds a text in %s where tools look for it, in a chunk of kind %s', async (_what, kind, text) => {
    const { png } = await published
    const embedded = withInfotext(png, text)
    const { comments } = await sharp(embedded).metadata()
    expect(comments?.find(({ keyword }) => keyword === 'parameters')?.text).toBe(text)
    const [head, parameters, ...others] = pngChunks(embedded)
    expect([head?.name, parameters?.name]).toEqual(['IHDR', kind])
    expect([head, ...others]).toEqual(pngChunks(png))
    expect(xmpOf(embedded)).toBe(xmpOf(png))
    expect((await sharp(embedded).raw().toBuffer()).equals(await sharp(png).raw().toBuffer())).toBe(true)
  })
})
