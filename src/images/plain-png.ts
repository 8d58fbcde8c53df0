import { promisify } from 'node:util'
import { crc32, type Inflate, inflate } from 'node:zlib'
import { pngChunks } from '../image-bytes.js'
import { chunk } from './png-text.js'
import { withMemory } from './reused-memory.js'

interface Size {
  readonly width: number
  readonly height: number
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** Of a chunk without data: its length, name and checksum. */
const CHUNK_LENGTH = 12
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

/** What a plain PNG holds. */
export interface PlainPixels {
  readonly lines: Buffer
  /** The checksum of the lines. */
  readonly adler32: Buffer
}

/**
 * The inflated pixels of a backend's PNG, if its compressed pixels can be published as they are: of this size, 8-bit RGB,
 * not interlaced, without a colour profile, whole, compressed, and surely of more than one colour. Takes at most
 * twice the memory of the pixels, and inflates off the main thread. What is not plain (undefined) may still be a good image.
 */
export async function plainPixels(bytes: Buffer, size: Size): Promise<PlainPixels | undefined> {
  const start = startOf(size)
  if (!bytes.subarray(0, start.length).equals(start)) return undefined
  const chunks = [...pngChunks(bytes)]
  if (!PLAIN_ORDER.test(chunks.map(({ name }) => KINDS.get(name) ?? '-').join(''))) return undefined
  const end = chunks.reduce((at, it) => at + it.chunk.length, SIGNATURE.length)
  if (end !== bytes.length || !chunks.at(-1)?.chunk.equals(END) || !chunks.every((it) => isWhole(it.chunk)))
    return undefined
  const parts = chunks.filter(({ name }) => name === 'IDAT').map((it) => it.chunk.subarray(8, -4))
  const pixels = await inflated(parts, size.height * lineLength(size))
  return pixels && hasFilters(pixels.lines, size) && hasColours(pixels.lines, size) ? pixels : undefined
}

/**
 * Lends `use` the image as a PNG without compression: decoding it takes a third of the time, since nothing is inflated
 * again.
 */
export function withUncompressedPng<T>(pixels: PlainPixels, size: Size, use: (png: Buffer) => Promise<T>): Promise<T> {
  const start = startOf(size)
  const length = start.length + CHUNK_LENGTH + storedLength(pixels.lines) + END.length
  return withMemory(length, (memory) => {
    writeUncompressed(memory, start, pixels)
    return use(memory)
  })
}

function writeUncompressed(png: Buffer, start: Buffer, { lines, adler32 }: PlainPixels): void {
  const named = png.writeUInt32BE(storedLength(lines), start.copy(png))
  let at = png.writeUInt16BE(ZLIB_STORED, named + png.write('IDAT', named, 'latin1'))
  for (let from = 0; from < lines.length; from += BLOCK) {
    const block = lines.subarray(from, from + BLOCK)
    at = png.writeUInt8(from + BLOCK < lines.length ? 0 : 1, at)
    at = png.writeUInt16LE(block.length, at)
    at = png.writeUInt16LE(block.length ^ 0xffff, at)
    at += block.copy(png, at)
  }
  at += adler32.copy(png, at)
  at = png.writeUInt32BE(crc32(png.subarray(named, at)), at)
  END.copy(png, at)
}

/** How a zlib stream begins (RFC 1950); its last two bits of "level" say: fastest. */
const ZLIB_STORED = 0x7801
/** The longest block without compression (RFC 1951, 3.2.4). */
const BLOCK = 65_535
/** A header before each block, and the checksum at the end. */
const storedLength = ({ length }: Buffer): number => 2 + 5 * Math.ceil(length / BLOCK) + length + 4

const startOf = (size: Size): Buffer => Buffer.concat([SIGNATURE, header(size)])

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

/** Undefined unless the stream is sound, is all of the parts, shrank, and holds `length` bytes. */
async function inflated(parts: readonly Buffer[], length: number): Promise<PlainPixels | undefined> {
  const compressed = parts.reduce((sum, part) => sum + part.length, 0)
  // What did not shrink is encoded anew: a server that does not compress would fill the image store.
  if (parts[0]?.[0] !== FULL_WINDOW || compressed >= length) return undefined
  return withMemory(compressed, async (data) => {
    let at = 0
    for (const part of parts) at += part.copy(data, at)
    // One byte more than is allowed, so that everything is inflated in one step.
    const options = { chunkSize: length + 1, maxOutputLength: length, info: true }
    const answer: unknown = await promisify(inflate)(data, options).catch(() => undefined)
    if (answer === undefined) return undefined
    // The types don't know `info`.
    const { buffer: lines, engine } = answer as { buffer: Buffer; engine: Inflate }
    if (lines.length !== length || engine.bytesWritten !== compressed) return undefined
    // A zlib stream ends with the checksum of what it inflates to, and the inflater has compared it.
    return { lines, adler32: Buffer.from(data.subarray(-4)) }
  })
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
