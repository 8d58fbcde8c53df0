import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { finishImage } from '../../src/images/finish-image.js'
import { pngChunks } from '../support/png-chunks.js'

const SIZE = { width: 64, height: 64 }
const PAGE = '<html><script>alert(document.domain)</script></html>'
const FACTS = { ...SIZE, seed: 42, model: 'Pony Diffusion' }

const image = () =>
  sharp(Buffer.from(Array.from({ length: SIZE.width * SIZE.height * 3 }, (_, n) => (n * 13 + (n >> 5)) % 256)), {
    raw: { ...SIZE, channels: 3 },
  })

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const head = Buffer.alloc(4)
  head.writeUInt32BE(data.length)
  const tail = Buffer.alloc(4)
  tail.writeUInt32BE(crc32(named))
  return Buffer.concat([head, named, tail])
}

/** A PNG with one more chunk right behind its header. */
async function withChunk(name: string, data: string): Promise<Buffer> {
  const png = await image().png().toBuffer()
  const headerEnd = 8 + 25
  return Buffer.concat([png.subarray(0, headerEnd), chunk(name, Buffer.from(data, 'latin1')), png.subarray(headerEnd)])
}

const HIDDEN: [string, () => Promise<Buffer>][] = [
  ['a text chunk', () => withChunk('tEXt', `parameters\0${PAGE}`)],
  ['an international text chunk', () => withChunk('iTXt', `prompt\0\0\0\0\0${PAGE}`)],
  [
    'an EXIF chunk',
    () =>
      image()
        .withExif({ IFD0: { ImageDescription: PAGE } })
        .png()
        .toBuffer(),
  ],
  ['an XMP chunk of its own', () => withChunk('iTXt', `XML:com.adobe.xmp\0\0\0\0\0${PAGE}`)],
  ['a time stamp', () => withChunk('tIME', '\x07\xea\x01\x02\x03\x04\x05')],
  ['a chunk that nobody knows', () => withChunk('prVt', PAGE)],
  ['bytes behind the end of a PNG', async () => Buffer.concat([await image().png().toBuffer(), Buffer.from(PAGE)])],
  ['bytes behind the end of a JPEG', async () => Buffer.concat([await image().jpeg().toBuffer(), Buffer.from(PAGE)])],
  [
    'the comment of a JPEG',
    async () => {
      const jpeg = await image().jpeg().toBuffer()
      const comment = Buffer.from(`\xff\xfe\0${String.fromCharCode(PAGE.length + 2)}${PAGE}`, 'latin1')
      return Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)])
    },
  ],
  [
    'the EXIF data of a WebP',
    () =>
      image()
        .withExif({ IFD0: { Artist: PAGE } })
        .webp({ lossless: true })
        .toBuffer(),
  ],
]

describe('content that an image hides', () => {
  it.each(HIDDEN)('in %s is not published: only the pixels and our own mark are', async (_where, bytes) => {
    const { png } = await finishImage(await bytes(), FACTS)
    expect(
      pngChunks(png)
        .map(({ name }) => name)
        .filter((name) => name !== 'IDAT'),
    ).toEqual(['IHDR', 'iTXt', 'sRGB', 'IEND'])
    expect(png.includes('alert')).toBe(false)
    expect(png.includes('parameters')).toBe(false)
  })

  it('cannot be a page in the name of the model either: it is escaped', async () => {
    const { png } = await finishImage(await image().png().toBuffer(), { ...FACTS, model: PAGE })
    expect(png.includes('<script>')).toBe(false)
    expect(png.includes('&lt;script&gt;')).toBe(true)
  })
})
