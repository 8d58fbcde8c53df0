import { crc32, inflateRawSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { type ZippedFile, zipped } from '../../src/lib/zip.js'
import { until } from '../support/until.js'
import { unzipped } from '../support/unzip.js'

const AT = new Date('2026-03-04T05:06:07Z')
const fileOf = (name: string, bytes: ZippedFile['bytes']): ZippedFile => ({ name, at: AT, bytes })

async function* inParts(...parts: string[]) {
  for (const part of parts) yield Buffer.from(part)
}

async function* many(count: number) {
  for (let n = 0; n < count; n++) yield fileOf(`${n}.png`, Buffer.alloc(0))
}

async function partsOf(files: AsyncIterable<ZippedFile> | ZippedFile[]): Promise<Buffer[]> {
  const parts: Buffer[] = []
  for await (const part of zipped(
    (async function* () {
      yield* files
    })(),
  ))
    parts.push(part)
  return parts
}

/** As Java's ZipInputStream reads: what is not compressed must say its size before, and nothing is looked up at the end. */
function readFromTheFront(zip: Buffer): Map<string, string> {
  const files = new Map<string, string>()
  let at = 0
  while (zip.readUInt32LE(at) === 0x04034b50) {
    const [flags, method, nameLength, extraLength] = [6, 8, 26, 28].map((offset) => zip.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
      number,
    ]
    let [crc, packed] = [zip.readUInt32LE(at + 14), zip.readUInt32LE(at + 18)]
    const name = zip.subarray(at + 30, at + 30 + nameLength).toString()
    if ((flags & 8) !== 0 && method === 0) throw new Error(`nobody knows where ${name} ends`)
    if ((flags & 0x800) === 0) throw new Error(`the name ${name} is not said to be UTF-8`)
    at += 30 + nameLength + extraLength
    let bytes = zip.subarray(at, at + packed)
    if (method === 8) {
      const inflated = inflateRawSync(zip.subarray(at), { info: true }) as unknown as {
        buffer: Buffer
        engine: { bytesWritten: number }
      }
      bytes = inflated.buffer
      packed = inflated.engine.bytesWritten
    }
    at += packed
    if ((flags & 8) !== 0) {
      crc = zip.readUInt32LE(at + 4)
      expect([zip.readUInt32LE(at), zip.readUInt32LE(at + 8), zip.readUInt32LE(at + 12)]).toEqual([
        ...[0x08074b50, packed, bytes.length],
      ])
      at += 16
    }
    if (crc32(bytes) !== crc) throw new Error(`${name} is broken`)
    files.set(name, bytes.toString())
  }
  expect(zip.readUInt32LE(at)).toBe(0x02014b50)
  return files
}

it('is read from the front as from its end, whether a file is at hand or comes in parts', async () => {
  const list = '[1,2,3]\n'.repeat(50_000)
  const zip = Buffer.concat(
    await partsOf([
      fileOf('Größe.txt', Buffer.from('größer')),
      fileOf('empty.png', Buffer.alloc(0)),
      fileOf('list.json', inParts('[', list, ']')),
      fileOf('nothing.json', inParts()),
      fileOf('images/灯台.png', Buffer.alloc(200_000, 7)),
    ]),
  )
  const expected = new Map([
    ...[['Größe.txt', 'größer'] as const, ['empty.png', ''] as const, ['list.json', `[${list}]`] as const],
    ...[['nothing.json', ''] as const, ['images/灯台.png', Buffer.alloc(200_000, 7).toString()] as const],
  ])
  expect(readFromTheFront(zip)).toEqual(expected)
  expect(new Map([...unzipped(zip)].map(([name, bytes]) => [name, bytes.toString()]))).toEqual(expected)
})

it('says when a file was made in UTC, whatever the time zone of who reads it', async () => {
  const zip = Buffer.concat(await partsOf([fileOf('a', Buffer.from('b'))]))
  const field = Buffer.from([0x55, 0x54, 5, 0, 1, 0, 0, 0, 0])
  field.writeUInt32LE(AT.getTime() / 1000, 5)
  expect(zip.subarray(31, 40)).toEqual(field)
  // Dates that ZIP does not know are the nearest that it does.
  for (const at of [new Date(0), new Date('2200-01-01')]) await partsOf([{ name: 'a', at, bytes: Buffer.from('b') }])
})

it('counts more than 65535 files', async () => {
  const zip = Buffer.concat(await partsOf(many(66_000)))
  const end = zip.subarray(-22)
  expect([end.readUInt16LE(8), end.readUInt16LE(10)]).toEqual([0xffff, 0xffff])
  const longer = zip.subarray(-22 - 20 - 56, -22 - 20)
  expect(longer.readUInt32LE(0)).toBe(0x06064b50)
  expect([longer.readBigUInt64LE(24), longer.readBigUInt64LE(32)]).toEqual([66_000n, 66_000n])
  expect(zip.readUInt32LE(Number(longer.readBigUInt64LE(48)))).toBe(0x02014b50)
  expect(zip.subarray(-42, -38).readUInt32LE(0)).toBe(0x07064b50)
})

it('writes the directory of many files in small parts, between which others have their turn', async () => {
  let [turns, isOver] = [0, false]
  const turn = () => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const written: { readonly turn: number; readonly length: number }[] = []
  for await (const { length } of zipped(many(20_000))) written.push({ turn: turns, length })
  isOver = true
  const directory = written.slice(20_000)
  expect(directory.length).toBeGreaterThan(10)
  expect(Math.max(...directory.map(({ length }) => length))).toBeLessThan(66_000)
  // The end itself comes with the last part.
  expect(new Set(directory.map((it) => it.turn)).size).toBeGreaterThanOrEqual(directory.length - 1)
})

it('asks for a file when the one before has been read, and ends what it was reading when nobody reads on', async () => {
  const asked: string[] = []
  async function* files() {
    try {
      for (const name of ['a', 'b', 'c']) {
        asked.push(name)
        yield fileOf(name, name === 'b' ? endless() : Buffer.from(name))
      }
    } finally {
      asked.push('end of files')
    }
  }
  async function* endless() {
    try {
      while (true) yield Buffer.from(crypto.randomUUID().repeat(1000))
    } finally {
      asked.push('end of b')
    }
  }
  const parts = zipped(files())
  await parts.next()
  expect(asked).toEqual(['a'])
  while (!asked.includes('b')) await parts.next()
  for (let n = 0; n < 3; n++) await parts.next()
  await parts.return(undefined)
  await until(() => asked.length === 4, 'the end of all that was read')
  expect([...asked].sort()).toEqual(['a', 'b', 'end of b', 'end of files'])
})

it('fails as its file does', async () => {
  async function* failing() {
    yield Buffer.from('[')
    throw new Error('Postgres is away')
  }
  await expect(partsOf([fileOf('a.json', failing())])).rejects.toThrow('Postgres is away')
})
