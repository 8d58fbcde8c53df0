/** The check of a backend's PNG whose pixels need not be encoded anew (reencode-png.ts). */
import { promisify } from 'node:util'
import { crc32, type Inflate, inflate } from 'node:zlib'
import { lengthOf, pngChunks } from '../core/images/image-bytes.js'
import { chunk, chunkPieces } from './png-text.js'

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

/** What a plain PNG holds. */
interface PlainPixels {
  readonly lines: Buffer
  /** The checksum of the lines. */
  readonly adler32: Buffer
}

/**
 * The inflated pixels of a backend's PNG, if its compressed pixels can be published as they are: of this size, 8-bit RGB,
 * not interlaced, without a colour profile, whole, compressed, and surely of more than one colour. Takes at most twice
 * the memory of the pixels, and inflates off the main thread. What is not plain (undefined) may still be a good image.
 * By hand, because to encode again with sharp takes 25 to 55 ms of CPU.
 */
export async function plainPixels(bytes: Buffer, size: Size): Promise<PlainPixels | undefined> {
  const start = Buffer.concat([SIGNATURE, header(size)])
  if (!bytes.subarray(0, start.length).equals(start)) return undefined
  const chunks = [...pngChunks(bytes)]
  if (!PLAIN_ORDER.test(chunks.map(({ name }) => KINDS.get(name) ?? '-').join(''))) return undefined
  const end = SIGNATURE.length + lengthOf(chunks.map((it) => it.chunk))
  if (end !== bytes.length || !chunks.at(-1)?.chunk.equals(END) || !chunks.every((it) => isWhole(it.chunk)))
    return undefined
  const pieces = chunks.filter(({ name }) => name === 'IDAT').map((it) => it.chunk.subarray(8, -4))
  const length = size.height * lineLength(size)
  // What did not shrink is encoded anew: a server that does not compress would fill the image store.
  const pixels = lengthOf(pieces) < length ? await inflated(pieces, length) : undefined
  return pixels && hasFilters(pixels.lines, size) && hasColours(pixels.lines, size) ? pixels : undefined
}

/**
 * Lends `use` the image as a PNG without compression: decoding it takes a third of the time, since nothing is inflated
 * again.
 */
export const withUncompressedPng = <T>(pixels: PlainPixels, size: Size, use: (png: Buffer) => Promise<T>): Promise<T> =>
  withConcatenated([SIGNATURE, header(size), ...chunkPieces('IDAT', stored(pixels)), END], use)

/** How a zlib stream begins (RFC 1950): with the largest window, compressed as fast as can be. */
const ZLIB_START = Buffer.from([FULL_WINDOW, 0x01])
/** The longest block that is not compressed (RFC 1951, 3.2.4). */
const BLOCK = 65_535

/** A zlib stream that is not compressed, in pieces. */
function stored({ lines, adler32 }: PlainPixels): Buffer[] {
  const pieces: Buffer[] = [ZLIB_START]
  for (let at = 0; at < lines.length; at += BLOCK) {
    const block = lines.subarray(at, at + BLOCK)
    const head = Buffer.alloc(5)
    head.writeUInt8(at + BLOCK < lines.length ? 0 : 1) // 1: the last one
    head.writeUInt16LE(block.length, 1)
    head.writeUInt16LE(block.length ^ 0xffff, 3)
    pieces.push(head, block)
  }
  return [...pieces, adler32]
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

/** Undefined unless the stream is sound, is all of the data, and holds `length` bytes. */
const inflated = (pieces: readonly Buffer[], length: number): Promise<PlainPixels | undefined> =>
  withConcatenated(pieces, async (data) => {
    if (data[0] !== FULL_WINDOW) return undefined
    // One byte more than is allowed, so that everything is inflated in one step.
    const options = { chunkSize: length + 1, maxOutputLength: length, info: true }
    const answer: unknown = await promisify(inflate)(data, options).catch(() => undefined)
    if (answer === undefined) return undefined
    // The types don't know `info`.
    const { buffer: lines, engine } = answer as { buffer: Buffer; engine: Inflate }
    if (lines.length !== length || engine.bytesWritten !== data.length) return undefined
    // A zlib stream ends with the checksum of what it inflates to, and the inflater has compared it.
    return { lines, adler32: Buffer.from(data.subarray(-4)) }
  })

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

/**
 * Where the pieces before these were put together: megabytes that are new for each image cost more to clear and collect
 * than to fill. As large as the largest image so far needed; one only, so the others of a batch get new memory.
 */
let spare = Buffer.alloc(0)

/** Lends `use` the pieces as one buffer, which is somebody else's once `use` has ended. */
export async function withConcatenated<T>(pieces: readonly Buffer[], use: (whole: Buffer) => Promise<T>): Promise<T> {
  const length = lengthOf(pieces)
  const memory = spare.length < length ? Buffer.allocUnsafeSlow(length) : spare
  // Who asks meanwhile gets other memory.
  spare = Buffer.alloc(0)
  try {
    let at = 0
    for (const piece of pieces) at += piece.copy(memory, at)
    return await use(memory.subarray(0, length))
  } finally {
    if (memory.length > spare.length) spare = memory
  }
}
