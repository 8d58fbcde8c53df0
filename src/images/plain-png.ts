import { promisify } from 'node:util'
import { crc32, deflate, type Inflate, inflate, type ZlibOptions } from 'node:zlib'
import { pngChunks } from '../image-bytes.js'
import { chunk } from './png-text.js'

interface Size {
  readonly width: number
  readonly height: number
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** Published as it is: one with data would hide them. */
const END = chunk('IEND', Buffer.alloc(0))
const PIXEL_BYTES = 3
/** The first byte of a zlib stream with the largest window. libpng refuses one that points back beyond a smaller. */
const FULL_WINDOW = 0x78
const HIGHEST_FILTER = 4

/** D: the pixels; x: what changes how they look. Decoding heeds no chunk of another name, and none is published. */
const KINDS = new Map([
  ['IHDR', 'H'],
  ['IDAT', 'D'],
  ['IEND', 'E'],
  ['PLTE', 'x'],
  ['tRNS', 'x'],
  ['iCCP', 'x'],
])
const PLAIN_ORDER = /^H-*D+-*E$/

/**
 * The inflated lines of a backend's PNG, if its compressed pixels can be published as they are: of this size, 8-bit RGB,
 * not interlaced, without a colour profile, whole, compressed, and surely of more than one colour. Takes no more memory
 * than the pixels do, and inflates off the main thread. What is not plain (undefined) may still be a good image.
 */
export async function plainLines(bytes: Buffer, size: Size): Promise<Buffer | undefined> {
  const start = Buffer.concat([SIGNATURE, header(size)])
  if (!bytes.subarray(0, start.length).equals(start)) return undefined
  const chunks = [...pngChunks(bytes)]
  if (!PLAIN_ORDER.test(chunks.map(({ name }) => KINDS.get(name) ?? '-').join(''))) return undefined
  const end = chunks.reduce((at, it) => at + it.chunk.length, SIGNATURE.length)
  if (end !== bytes.length || !chunks.at(-1)?.chunk.equals(END) || !chunks.every((it) => isWhole(it.chunk)))
    return undefined
  const data = Buffer.concat(chunks.filter(({ name }) => name === 'IDAT').map((it) => it.chunk.subarray(8, -4)))
  const lines = data[0] === FULL_WINDOW ? await inflated(data, size.height * lineLength(size)) : undefined
  return lines && hasFilters(lines, size) && hasColours(lines, size) ? lines : undefined
}

/** The lines as a PNG without compression: decoding it takes a third of the time, since nothing is inflated again. */
export async function uncompressedPng(lines: Buffer, size: Size): Promise<Buffer> {
  const data = await promisify<Buffer, ZlibOptions, Buffer>(deflate)(lines, {
    level: 0,
    chunkSize: lines.length + 4096,
  })
  return Buffer.concat([SIGNATURE, header(size), chunk('IDAT', data), END])
}

/** The only plain one: 8 bits, RGB, and no choice of compression, filtering or interlacing. */
function header({ width, height }: Size): Buffer {
  const data = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0])
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  return chunk('IHDR', data)
}

const isWhole = (bytes: Buffer): boolean =>
  bytes.length === bytes.readUInt32BE(0) + 12 && bytes.readUInt32BE(bytes.length - 4) === crc32(bytes.subarray(4, -4))

/** The filter's number, then the filtered pixels. */
const lineLength = ({ width }: Size): number => 1 + width * PIXEL_BYTES

/** Undefined unless the stream is sound, is all of `data`, shrank, and holds `length` bytes. */
async function inflated(data: Buffer, length: number): Promise<Buffer | undefined> {
  // What did not shrink is encoded anew: a server that does not compress would fill the image store.
  if (data.length >= length) return undefined
  // One byte more than is allowed, so that everything is inflated in one step.
  const options = { chunkSize: length + 1, maxOutputLength: length, info: true }
  const answer: unknown = await promisify(inflate)(data, options).catch(() => undefined)
  if (answer === undefined) return undefined
  // The types don't know `info`.
  const { buffer, engine } = answer as { buffer: Buffer; engine: Inflate }
  return buffer.length === length && engine.bytesWritten === data.length ? buffer : undefined
}

function hasFilters(lines: Buffer, size: Size): boolean {
  for (let at = 0; at < lines.length; at += lineLength(size)) if ((lines[at] as number) > HIGHEST_FILTER) return false
  return true
}

/**
 * Whether filtering left different pixels in a line, its first aside. In an image of a single colour no filter does; in
 * a photo the first line shows it.
 */
function hasColours(lines: Buffer, size: Size): boolean {
  for (let at = 0; at < lines.length; at += lineLength(size)) {
    const filtered = lines.subarray(at + 1 + PIXEL_BYTES, at + lineLength(size))
    if (!filtered.subarray(PIXEL_BYTES).equals(filtered.subarray(0, -PIXEL_BYTES))) return true
  }
  return false
}
