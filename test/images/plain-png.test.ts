import { createHash } from 'node:crypto'
import { constants, deflateRawSync, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { decodable } from '../../src/core/images/image-bytes.js'
import { finishImage } from '../../src/images/finish-image.js'
import { chunk } from '../../src/images/png-text.js'
import { pngChunks } from '../support/png-chunks.js'

/** So many bytes that every encoder announces the largest window. */
const SIZE = { width: 160, height: 120 }
const FACTS = { ...SIZE, seed: 42, model: 'Pony Diffusion' }
const LINE = 1 + SIZE.width * 3
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const NOTHING = Buffer.alloc(0)
const SECRET = 'a secret'

const lines = Buffer.from(
  Array.from({ length: LINE * SIZE.height }, (_, i) => (i % LINE === 0 ? 0 : (i * 7 + (i >> 6)) & 63)),
)
const compressed = deflateSync(lines)

/** The header's last bytes: depth, colour type, compression, filter method, interlacing. */
function header(last = [8, 2, 0, 0, 0], { width, height } = SIZE): Buffer {
  const data = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, ...last])
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  return chunk('IHDR', data)
}

const text = (name: string) => chunk(name, Buffer.from(`parameters\0${SECRET}`))
const IDAT = chunk('IDAT', compressed)
const FIRST = chunk('IDAT', compressed.subarray(0, 99))
const REST = chunk('IDAT', compressed.subarray(99))
const END = chunk('IEND', NOTHING)
const file = (...chunks: Buffer[]) => Buffer.concat([SIGNATURE, ...chunks])
const drawn = (data: Buffer, head = header()) => file(head, chunk('IDAT', data), END)
const good = drawn(compressed)

/** With one bit wrong, at a place counted from the end where it is negative. */
function damaged(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  const place = at < 0 ? copy.length + at : at
  copy[place] = (copy[place] as number) ^ 1
  return copy
}

/** With its lines changed, each a filter's number and filtered pixels. */
function changed(change: (line: Buffer, y: number) => void): Buffer {
  const copy = Buffer.from(lines)
  for (let y = 0; y < SIZE.height; y++) change(copy.subarray(y * LINE, (y + 1) * LINE), y)
  return drawn(deflateSync(copy))
}

/** The image of one colour whose lines all have the same filter. */
function singleColour(filter: number): Buffer {
  const value = 9
  const filtered = Buffer.from(lines)
  for (let at = 0; at < filtered.length; at++) {
    const [isFirstLine, column] = [at < LINE, (at % LINE) - 1]
    const [left, up] = [column < 3 ? 0 : value, isFirstLine ? 0 : value]
    const paeth = isFirstLine ? left : up
    const predicted = [0, left, up, (left + up) >> 1, paeth][filter] as number
    filtered[at] = column === -1 ? filter : value - predicted
  }
  return drawn(deflateSync(filtered))
}

const dataOf = (png: Buffer) =>
  Buffer.concat(
    pngChunks(png)
      .filter(({ name }) => name === 'IDAT')
      .map(({ data }) => data),
  )
const others = (png: Buffer) => pngChunks(png).filter(({ name }) => name !== 'IDAT')
const pixelsOf = (bytes: Buffer) => sharp(bytes).removeAlpha().raw({ depth: 'uchar' }).toBuffer()

/** What is published of an image that is no PNG, but shows the same. */
async function encodedAnew(bytes: Buffer): Promise<Buffer> {
  const webp = await sharp(decodable(bytes), { failOn: 'none' })
    .flatten({ background: 'white' })
    .webp({ lossless: true })
    .toBuffer()
  return (await finishImage(webp, FACTS)).png
}

describe('a plain PNG', () => {
  it.each<[string, () => Buffer | Promise<Buffer>]>([
    ['of zlib', () => good],
    ['of libpng', () => sharp(good).png({ compressionLevel: 4, adaptiveFiltering: true }).toBuffer()],
    ['with every filter', () => changed((line, y) => line.fill(y % 5, 0, 1))],
    ['in several chunks, one of them empty', () => file(header(), FIRST, chunk('IDAT', NOTHING), REST, END)],
    ['with one line that differs', () => changed((line, y) => line.fill(0).fill(y === 60 ? 77 : 0, 9, 10))],
  ])('%s is published with its own compressed pixels and the marks of any other image', async (_, draw) => {
    const bytes = await draw()
    const { png, sha256 } = await finishImage(bytes, FACTS)
    expect(dataOf(png).equals(dataOf(bytes))).toBe(true)
    expect((await pixelsOf(png)).equals(await pixelsOf(bytes))).toBe(true)
    expect(others(png)).toEqual(others(await encodedAnew(bytes)))
    expect(sha256).toBe(createHash('sha256').update(png).digest('hex'))
  })

  it('is published without anything that the server wrote beside the pixels', async () => {
    const names = 'tEXt iTXt zTXt eXIf tIME pHYs bKGD sRGB gAMA cHRM cICP prVt CRIT'.split(' ')
    const bytes = file(header(), ...names.map(text), IDAT, text('tEXt'), text('fdAT'), END)
    const { png } = await finishImage(bytes, FACTS)
    expect(png.equals((await finishImage(good, FACTS)).png)).toBe(true)
    expect(png.includes(SECRET)).toBe(false)
    // Decoding heeds none of them either, not even the gamma.
    expect((await pixelsOf(png)).equals(await pixelsOf(await encodedAnew(bytes)))).toBe(true)
  })
})

describe('the thumbnail of a plain PNG', () => {
  /** The lines of 428 × 102 fill two of deflate's longest blocks to the last byte. */
  const SIZES = [
    { width: 400, height: 600 },
    { width: 400, height: 600 },
    { width: 160, height: 120 },
    { width: 428, height: 102 },
    { width: 600, height: 400 },
  ]

  it('shows its own pixels, also when others are made at the same time and before', async () => {
    const drawings = await Promise.all(
      SIZES.map(async (size) => {
        const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const
        const pixels = await sharp({ create: { ...size, channels: 3, background: 'grey', noise } })
          .raw()
          .toBuffer()
        const drawing = sharp(pixels, { raw: { ...size, channels: 3 } })
        const [bytes, webp] = await Promise.all([
          drawing.clone().png().toBuffer(),
          drawing.webp({ lossless: true }).toBuffer(),
        ])
        const facts = { ...FACTS, ...size }
        return { bytes, facts, expected: (await finishImage(webp, facts)).thumbnail }
      }),
    )
    for (const together of [drawings, drawings.toReversed()]) {
      const finished = await Promise.all(together.map(({ bytes, facts }) => finishImage(bytes, facts)))
      for (const [i, { bytes, expected }] of together.entries()) {
        const { png, thumbnail } = finished[i] as (typeof finished)[0]
        expect(dataOf(png).equals(dataOf(bytes))).toBe(true)
        expect(expected && thumbnail?.equals(expected)).toBe(true)
      }
    }
  })
})

/** Good images all the same. */
const NOT_PLAIN: [string, () => Buffer | Promise<Buffer>][] = [
  ['16-bit', () => sharp(good).toColourspace('rgb16').png().toBuffer()],
  ['transparent', () => sharp(good).ensureAlpha(0.5).png().toBuffer()],
  ['interlaced', () => sharp(good).png({ progressive: true }).toBuffer()],
  ['palette', () => sharp(good).png({ palette: true }).toBuffer()],
  ['Display P3', () => sharp(good).withIccProfile('p3').png().toBuffer()],
  ['transparent in one colour', () => file(header(), chunk('tRNS', Buffer.alloc(6)), IDAT, END)],
  ['suggested palette', () => file(header(), chunk('PLTE', Buffer.from([1, 2, 3])), IDAT, END)],
  ['uncompressed', () => drawn(deflateSync(lines, { level: 0 }))],
  ['small window', () => drawn(deflateSync(lines, { windowBits: 9 }))],
  ['wrong checksum beside the pixels', () => file(header(), damaged(text('tEXt'), -1), IDAT, END)],
  ['text before the header', () => file(text('eXIf'), header(), IDAT, END)],
  ['text between the pixels', () => file(header(), FIRST, text('eXIf'), REST, END)],
  ['bytes behind the compressed pixels', () => drawn(Buffer.concat([compressed, Buffer.from(SECRET)]))],
  ['another chunk of them', () => file(header(), IDAT, chunk('IDAT', Buffer.from(SECRET)), END)],
  ['a line too many', () => drawn(deflateSync(Buffer.concat([lines, lines.subarray(0, LINE)])))],
  ['a byte too many', () => drawn(deflateSync(Buffer.concat([lines, Buffer.alloc(1)])))],
  ['no end', () => file(header(), IDAT)],
  ['an end cut short', () => good.subarray(0, -3)],
  ['an end with a wrong checksum', () => damaged(good, -1)],
  ['an end with data', () => file(header(), IDAT, chunk('IEND', Buffer.from(SECRET)))],
  ['two ends', () => file(header(), IDAT, END, END)],
  ['a chunk behind the end', () => file(header(), IDAT, END, text('tEXt'))],
  ['a few bytes behind the end', () => Buffer.concat([good, Buffer.from('hi')])],
  ['lines of one colour each', () => changed((line, y) => line.fill(y, 1))],
]

const REFUSED: [string, () => Buffer][] = [
  ['pixels cut short', () => good.subarray(0, -100)],
  ['a wrong checksum of the pixels', () => damaged(good, -13)],
  ['a wrong checksum of the header', () => file(damaged(header(), -1), IDAT, END)],
  ['a wrong checksum of the compressed pixels', () => drawn(damaged(compressed, -1))],
  ['no checksum of the compressed pixels', () => drawn(compressed.subarray(0, -4))],
  ['no pixels', () => file(header(), END)],
  ['nothing but a signature', () => file()],
  ['two headers', () => file(header(), header(), IDAT, END)],
  ['a length beyond the file', () => damaged(good, SIGNATURE.length + header().length)],
  ['an unknown filter', () => changed((line, y) => y === 7 && line.fill(5, 0, 1))],
  ['a line too few', () => drawn(deflateSync(lines.subarray(LINE)))],
  ['a byte too few', () => drawn(deflateSync(lines.subarray(0, -1)))],
  ['a smaller window than it needs', () => drawn(Buffer.concat([Buffer.from([0x18, 0x19]), compressed.subarray(2)]))],
  ['a dictionary', () => drawn(deflateSync(lines, { dictionary: Buffer.from('pixels') }))],
  ['an unknown compression', () => drawn(compressed, header([8, 2, 1, 0, 0]))],
  ['an unknown filter method', () => drawn(compressed, header([8, 2, 0, 1, 0]))],
  ['less than its header says', () => drawn(compressed, header([8, 6, 0, 0, 0]))],
  ['another size', () => drawn(compressed, header(undefined, { width: SIZE.height, height: SIZE.width }))],
]

describe('a PNG that is not plain', () => {
  it.each(NOT_PLAIN)('is encoded anew: %s', async (_, draw) => {
    const bytes = await draw()
    const { png } = await finishImage(bytes, FACTS)
    expect(png.equals(await encodedAnew(bytes))).toBe(true)
    expect(png.includes(SECRET)).toBe(false)
  })

  it.each(REFUSED)('is refused: %s', async (_, draw) => {
    await expect(finishImage(draw(), FACTS)).rejects.toMatchObject({ kind: 'bad_output' })
  })

  it.each([0, 1, 2, 3, 4])('is refused when it has a single colour, filtered by method %i', async (filter) => {
    const refused = { message: 'the backend drew a single colour, 090909' }
    await expect(finishImage(singleColour(filter), FACTS)).rejects.toMatchObject(refused)
  })

  it('is refused when it has more than 2^24 pixels, even if so many were asked for', async () => {
    const size = { width: 8192, height: 2049 }
    const many = Buffer.alloc((1 + size.width * 3) * size.height).fill(7, 9, 99)
    const bytes = drawn(deflateSync(many, { level: 1 }), header(undefined, size))
    await expect(finishImage(bytes, { ...FACTS, ...size })).rejects.toMatchObject({ kind: 'bad_output' })
  })

  it('is inflated to no more than its size, however much a few bytes hold', async () => {
    const size = { width: 832, height: 1216 }
    const part = (data: Buffer) => deflateRawSync(data, { finishFlush: constants.Z_FULL_FLUSH })
    const pixels = part(Buffer.alloc((1 + size.width * 3) * size.height).fill(7, 9, 99))
    const more = Array<Buffer>(500).fill(part(Buffer.alloc(2 ** 20)))
    const bomb = drawn(Buffer.concat([compressed.subarray(0, 2), pixels, ...more]), header(undefined, size))
    const most = process.resourceUsage().maxRSS
    await expect(finishImage(bomb, { ...FACTS, ...size })).rejects.toMatchObject({ kind: 'bad_output' })
    expect(process.resourceUsage().maxRSS - most).toBeLessThan(200_000) // KiB
  })
})
