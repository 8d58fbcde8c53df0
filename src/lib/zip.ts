/**
 * ZIP files that are written while they are read, and can be read from front to back: what is at hand says its size and
 * checksum first; what comes in parts is compressed, so that it says itself where it ends (PKWARE's APPNOTE, 4.3 to 4.5).
 */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { crc32, createDeflateRaw } from 'node:zlib'

export interface ZippedFile {
  /** With slashes between folders. */
  readonly name: string
  readonly at: Date
  readonly bytes: Buffer | AsyncIterable<Buffer>
}

/** What stands in a file's header and in the directory at the end. */
interface Entry {
  readonly name: Buffer
  readonly at: Date
  /** Whether size and checksum stand behind the file. */
  readonly streamed: boolean
  crc: number
  size: number
  packed: number
}

/** Between two such parts others have their turn. */
const PART = 64 * 1024
/** What 32 and 16 bits cannot say stands in a longer field. */
const [MAX_32, MAX_16] = [0xffffffff, 0xffff]

/** The ZIP in parts of any size; holds one file and a line for each of those before. */
export async function* zipped(files: AsyncIterable<ZippedFile>): AsyncGenerator<Buffer, undefined> {
  const directory: Buffer[] = []
  let lines: Buffer[] = []
  let [written, count, pending] = [0, 0, 0]
  for await (const { name, at, bytes } of files) {
    const entry: Entry = {
      ...{ name: Buffer.from(name), at, streamed: !Buffer.isBuffer(bytes) },
      ...{ crc: 0, size: 0, packed: 0 },
    }
    const offset = written
    for await (const part of Buffer.isBuffer(bytes) ? stored(entry, bytes) : compressed(entry, bytes)) {
      written += part.length
      yield part
    }
    const line = directoryLine(entry, offset)
    lines.push(line)
    count++
    pending += line.length
    if (pending < PART) continue
    directory.push(Buffer.concat(lines))
    lines = []
    pending = 0
  }
  directory.push(Buffer.concat(lines))
  const offset = written
  for (const part of directory) {
    await turn()
    written += part.length
    yield part
  }
  yield endOf(count, offset, written - offset)
}

async function* stored(entry: Entry, bytes: Buffer) {
  for (const part of partsOf(bytes)) {
    entry.crc = crc32(part, entry.crc)
    await turn()
  }
  entry.size = bytes.length
  entry.packed = bytes.length
  yield header(entry)
  yield* partsOf(bytes)
}

async function* compressed(entry: Entry, parts: AsyncIterable<Buffer>) {
  yield header(entry)
  const deflate = createDeflateRaw()
  async function* counted() {
    for await (const bytes of parts)
      for (const part of partsOf(bytes)) {
        entry.crc = crc32(part, entry.crc)
        entry.size += part.length
        yield part
      }
  }
  const fed = pipeline(Readable.from(counted(), { objectMode: false }), deflate)
  // Whoever reads the compressed bytes learns of it.
  fed.catch(() => undefined)
  for await (const part of deflate) {
    entry.packed += part.length
    yield part as Buffer
  }
  await fed
  const wide = entry.size >= MAX_32 || entry.packed >= MAX_32
  yield joined(u32(0x08074b50), u32(entry.crc), ...[entry.packed, entry.size].map(wide ? u64 : u32))
}

function* partsOf(bytes: Buffer) {
  for (let from = 0; from < bytes.length; from += PART) yield bytes.subarray(from, from + PART)
}

/** Written by Unix, and read by what knows longer fields. */
const [MADE_BY, NEEDED, NEEDED_64] = [0x031e, 20, 45]
/** The name is UTF-8; what stands behind the file. */
const [UTF8, BEHIND] = [0x800, 8]
/** A file that its owner may change, and all others read. */
const MODE = 0o100644 * 0x10000

const needed = ({ size, packed }: Entry) => (size >= MAX_32 || packed >= MAX_32 ? NEEDED_64 : NEEDED)
const common = (entry: Entry) => [
  u16(needed(entry)),
  u16(UTF8 | (entry.streamed ? BEHIND : 0)),
  u16(entry.streamed ? 8 : 0),
  ...dosTime(entry.at),
  u32(entry.crc),
]

function header(entry: Entry): Buffer {
  const { name, at, size, packed } = entry
  const wide = needed(entry) === NEEDED_64
  const extra = joined(...moment(at), ...(wide ? [u16(1), u16(16), u64(size), u64(packed)] : []))
  const sizes = wide ? [u32(MAX_32), u32(MAX_32)] : [u32(packed), u32(size)]
  return joined(u32(0x04034b50), ...common(entry), ...sizes, u16(name.length), u16(extra.length), name, extra)
}

function directoryLine(entry: Entry, offset: number): Buffer {
  const { name, at, size, packed } = entry
  const wide = [size, packed, offset].filter((it) => it >= MAX_32)
  const extra = joined(
    ...moment(at),
    ...(wide.length > 0 ? [u16(1), u16(8 * wide.length), ...wide.map((it) => u64(it))] : []),
  )
  return joined(
    ...[u32(0x02014b50), u16(MADE_BY), ...common(entry), u32(least(packed)), u32(least(size))],
    ...[u16(name.length), u16(extra.length), u16(0), u16(0), u16(0), u32(MODE), u32(least(offset)), name, extra],
  )
}

function endOf(count: number, offset: number, size: number): Buffer {
  const wide = count >= MAX_16 || offset >= MAX_32 || size >= MAX_32
  const longer = [
    ...[u32(0x06064b50), u64(44), u16(MADE_BY), u16(NEEDED_64), u32(0), u32(0)],
    ...[u64(count), u64(count), u64(size), u64(offset)],
    ...[u32(0x07064b50), u32(0), u64(offset + size), u32(1)],
  ]
  const short = u16(Math.min(count, MAX_16))
  return joined(
    ...(wide ? longer : []),
    ...[u32(0x06054b50), u16(0), u16(0), short, short, u32(least(size)), u32(least(offset)), u16(0)],
  )
}

/** In whole even seconds of UTC, from 1980 to 2107. */
function dosTime(at: Date): Buffer[] {
  const it = new Date(Math.min(Math.max(at.getTime(), Date.UTC(1980, 0)), Date.UTC(2107, 11, 31, 23, 59, 58)))
  const time = (it.getUTCHours() << 11) | (it.getUTCMinutes() << 5) | (it.getUTCSeconds() >> 1)
  const day = ((it.getUTCFullYear() - 1980) << 9) | ((it.getUTCMonth() + 1) << 5) | it.getUTCDate()
  return [u16(time), u16(day)]
}

/** The field that says it in UTC; the other one is read as the reader's own time. */
function moment(at: Date): Buffer[] {
  const seconds = Math.floor(at.getTime() / 1000)
  return seconds >= 0 && seconds < 2 ** 31 ? [u16(0x5455), u16(5), Buffer.from([1]), u32(seconds)] : []
}

const least = (value: number) => Math.min(value, MAX_32)
const joined = (...parts: Buffer[]) => Buffer.concat(parts)

function u16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
