import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { BackendError } from '../../src/core/generations/run/backend.js'
import { finishImage } from '../../src/images/finish-image.js'
import { chunk } from '../../src/images/png-text.js'
import { drawnImage } from '../../src/inference/drawn-image.js'
import { pngChunks, xmpOf } from '../support/png-chunks.js'

const SIZE = { width: 64, height: 48 }
const facts = { ...SIZE, seed: 42, model: 'Pony Diffusion' }

/** An image with something in it, as sharp's own pipeline to encode from. */
function sketch({ width, height } = SIZE) {
  const pixels = Buffer.from(Array.from({ length: width * height * 3 }, (_, i) => (i * 7 + (i >> 6)) % 256))
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

const refusal = (bytes: Buffer, asked = facts) =>
  finishImage(bytes, asked).then(
    () => expect.fail('the image was accepted'),
    (error: unknown) => error,
  )

describe('finishing an image', () => {
  it.each([
    ['PNG', sketch().png()],
    ['JPEG', sketch().jpeg()],
    ['WebP', sketch().webp({ lossless: true })],
  ])('makes an 8-bit RGB PNG of the asked size out of a %s', async (_, image) => {
    const { png, sha256 } = await finishImage(await image.toBuffer(), facts)
    expect(await sharp(png).metadata()).toMatchObject({
      format: 'png',
      ...SIZE,
      channels: 3,
      depth: 'uchar',
      hasAlpha: false,
      space: 'srgb',
    })
    expect(sha256).toBe(createHash('sha256').update(png).digest('hex'))
  })

  it.each([
    ['PNG', 'png'],
    ['WebP', 'webp'],
  ] as const)('makes a thumbnail out of a %s: small, in its proportions, marked as AI-generated', async (_, format) => {
    const size = { width: 640, height: 438 }
    const bytes = await sketch(size).toFormat(format, { lossless: true }).toBuffer()
    const { thumbnail } = await finishImage(bytes, { ...facts, ...size })
    const { xmp, ...found } = await sharp(thumbnail).metadata()
    expect(found).toMatchObject({ format: 'webp', width: 512, height: 350 })
    expect(`${xmp}`).toContain('trainedAlgorithmicMedia')
    expect((await finishImage(await sketch().png().toBuffer(), facts)).thumbnail?.length).toBeLessThan(10_000)
  })

  it('keeps the pixels of a lossless image', async () => {
    const { png } = await finishImage(await sketch().png().toBuffer(), facts)
    expect((await sharp(png).raw().toBuffer()).equals(await sketch().raw().toBuffer())).toBe(true)
  })

  it('gives the same file for the same bytes and facts', async () => {
    const bytes = await sketch().png().toBuffer()
    expect((await finishImage(bytes, facts)).sha256).toBe((await finishImage(bytes, facts)).sha256)
  })

  it.each([
    ['16-bit', () => sketch().toColourspace('rgb16').png()],
    ['palette', () => sketch().png({ palette: true, colours: 16 })],
    ['greyscale', () => sketch().greyscale().png()],
    ['transparent', () => sketch().ensureAlpha(0.5).png()],
    ['Display P3', () => sketch().withIccProfile('p3').png()],
    ['CMYK', () => sketch().toColourspace('cmyk').jpeg()],
  ])('turns a %s image into plain sRGB', async (_, image) => {
    const { png } = await finishImage(await image().toBuffer(), facts)
    const header = pngChunks(png)[0]
    expect([header?.data[8], header?.data[9]]).toEqual([8, 2]) // bit depth, colour type RGB
    expect((await sharp(png).metadata()).icc).toBeUndefined()
  })

  it('lays what is transparent on white', async () => {
    const seeThrough = Buffer.alloc(SIZE.width * SIZE.height * 4)
    seeThrough.fill(Buffer.from([200, 0, 0, 255]), 0, seeThrough.length / 2)
    const bytes = await sharp(seeThrough, { raw: { ...SIZE, channels: 4 } })
      .png()
      .toBuffer()
    const pixels = await sharp((await finishImage(bytes, facts)).png)
      .raw()
      .toBuffer()
    expect([...pixels.subarray(0, 3), ...pixels.subarray(-3)]).toEqual([200, 0, 0, 255, 255, 255])
  })
})

describe('what a finished image says', () => {
  /** What SD WebUI and cameras leave behind. */
  const chatty = () =>
    sketch()
      .withExif({ IFD0: { ImageDescription: 'secret prompt', Artist: 'someone' } })
      .withIccProfile('srgb')
      .withDensity(300)

  it('keeps nothing of what the backend wrote beside the pixels', async () => {
    for (const bytes of [await chatty().png().toBuffer(), await chatty().jpeg().toBuffer()]) {
      const { png } = await finishImage(bytes, facts)
      const names = pngChunks(png).map(({ name }) => name)
      expect(names.filter((name) => name !== 'IDAT')).toEqual(['IHDR', 'iTXt', 'sRGB', 'IEND'])
      expect(png.includes('secret')).toBe(false)
    }
  })

  it('drops text chunks that hold a prompt', async () => {
    const bytes = await sketch().png().toBuffer()
    const text = Buffer.from([0, 0, 0, 19, ...Buffer.from('tEXtparameters\0a secret'), 0, 0, 0, 0])
    const { png } = await finishImage(Buffer.concat([bytes.subarray(0, 33), text, bytes.subarray(33)]), facts)
    expect(png.includes('secret')).toBe(false)
  })

  it('says in readable XMP right after the header that it is AI-generated, with seed and model', async () => {
    const { png } = await finishImage(await chatty().png().toBuffer(), { ...facts, seed: 4294967295 })
    expect(pngChunks(png)[1]?.name).toBe('iTXt')
    const xmp = xmpOf(png)
    expect(xmp).toContain(
      '<Iptc4xmpExt:DigitalSourceType>http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia<',
    )
    expect(xmp).toContain('<xmp:CreatorTool>Easel<')
    expect(xmp).toContain('<easel:seed>4294967295<')
    expect(xmp).toContain('<easel:model>Pony Diffusion<')
    expect((await sharp(png).metadata()).xmp?.toString()).toBe(xmp)
  })

  it('writes any model name as well-formed text', async () => {
    const { png } = await finishImage(await sketch().png().toBuffer(), {
      ...facts,
      model: 'A<b>&"\'\0\x1b\n\ud800 é 模型 🎨',
    })
    expect(xmpOf(png)).toContain('<easel:model>A&lt;b&gt;&amp;&quot;&apos; é 模型 🎨</easel:model>')
  })
})

describe('refusing an image', () => {
  it.each([
    ['no image at all', () => Buffer.from('{"error":"out of memory"}')],
    ['nothing', () => Buffer.alloc(0)],
    ['a GIF', () => sketch().gif().toBuffer()],
    ['an SVG', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48"/>')],
    ['a PNG cut short', async () => (await sketch().png().toBuffer()).subarray(0, -1000)],
    ['a PNG cut short within its header', async () => (await sketch().png().toBuffer()).subarray(0, 20)],
    ['a JPEG cut short', async () => (await sketch().jpeg().toBuffer()).subarray(0, -1000)],
    ['a WebP cut short', async () => (await sketch().webp({ lossless: true }).toBuffer()).subarray(0, -1000)],
    ['an image of another size', () => sketch({ width: 48, height: 64 }).png().toBuffer()],
    [
      'a black PNG',
      () =>
        sharp({ create: { ...SIZE, channels: 3, background: '#000' } })
          .png()
          .toBuffer(),
    ],
    [
      'a black JPEG',
      () =>
        sharp({ create: { ...SIZE, channels: 3, background: '#000' } })
          .jpeg()
          .toBuffer(),
    ],
    ['a fully transparent PNG', () => sketch().ensureAlpha(0).png().toBuffer()],
  ])('refuses %s as bad output', async (_, bytes) => {
    const error = await refusal(await bytes())
    expect(error).toBeInstanceOf(BackendError)
    expect(error).toMatchObject({ kind: 'bad_output', publicMessage: expect.stringMatching(/^The image .*\.$/) })
  })

  it('tells the operator the asked and the drawn size', async () => {
    const error = await refusal(await sketch().png().toBuffer(), { ...facts, width: 72 })
    expect(error).toMatchObject({ message: 'the backend drew 64x48 instead of 72x48' })
  })

  it('does not decode an image of more than 2^24 pixels', async () => {
    const bomb = await sharp({ create: { width: 4104, height: 4096, channels: 3, background: '#123' } })
      .png({ compressionLevel: 1 })
      .toBuffer()
    expect(await refusal(bomb, { ...facts, width: 4104, height: 4096 })).toMatchObject({ kind: 'bad_output' })
  })

  it('unpacks no text, of which a few bytes can be hundreds of megabytes', async () => {
    const plain = await sketch().png().toBuffer()
    const text = deflateSync(Buffer.alloc(7_000_000, 'a'))
    const texts = Array.from({ length: 60 }, (_, n) => chunk('zTXt', Buffer.concat([Buffer.from(`${n}\0\0`), text])))
    const bomb = Buffer.concat([plain.subarray(0, 33), ...texts, plain.subarray(33)])
    const most = process.resourceUsage().maxRSS
    const finished = await finishImage(bomb, facts)
    await drawnImage(bomb.toString('base64'), SIZE, (what) => new Error(what))
    expect(finished).toEqual(await finishImage(plain, facts))
    expect(process.resourceUsage().maxRSS - most).toBeLessThan(200_000) // KiB
  })

  it.each(['tEXt', 'IDAT'])('looks at no PNG of millions of chunks named %s', async (name) => {
    const plain = await sketch().png().toBuffer()
    const empty = Buffer.alloc(12 * 2_000_000, chunk(name, Buffer.alloc(0)))
    const bomb = Buffer.concat([plain.subarray(0, 33), empty, plain.subarray(33)])
    const most = process.resourceUsage().maxRSS
    expect(await refusal(bomb)).toMatchObject({ kind: 'bad_output' })
    await expect(drawnImage(bomb.toString('base64'), SIZE, (what) => new Error(what))).rejects.toThrow('PNG')
    expect(process.resourceUsage().maxRSS - most).toBeLessThan(200_000) // KiB
  })

  it('accepts an image that differs from a single colour in its last pixel only', async () => {
    const pixels = Buffer.alloc(SIZE.width * SIZE.height * 3)
    pixels[pixels.length - 1] = 1
    const bytes = await sharp(pixels, { raw: { ...SIZE, channels: 3 } })
      .png()
      .toBuffer()
    await expect(finishImage(bytes, facts)).resolves.toHaveProperty('png')
  })
})
