import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import sharp from 'sharp'

export interface Image {
  readonly width: number
  readonly height: number
  /** The same key gives the same image, another key another one. */
  readonly key: string
  /** What goes into the `parameters` text chunk. */
  readonly parameters: string
  readonly look: 'finished' | 'unfinished' | 'black'
}

/** A PNG of coloured 8-pixel blocks (cheap to draw and to compress) with a `parameters` chunk, as A1111 writes it. */
export async function drawImage({ width, height, key, parameters, look }: Image): Promise<Buffer> {
  const cells = { width: Math.ceil(width / 8), height: Math.ceil(height / 8) }
  const raw = noise(key, cells.width * cells.height * 3)
  if (look === 'black') raw.fill(0)
  if (look === 'unfinished') for (let i = 0; i < raw.length; i++) raw[i] = 96 + ((raw[i] as number) >> 2)
  const png = await sharp(raw, { raw: { ...cells, channels: 3 } })
    .resize(width, height, { fit: 'fill', kernel: 'nearest' })
    .png({ compressionLevel: 2 })
    .toBuffer()
  const afterHeader = 33 // signature 8, IHDR 25
  return Buffer.concat([png.subarray(0, afterHeader), textChunk('parameters', parameters), png.subarray(afterHeader)])
}

/** xorshift32, seeded by the key's hash. */
function noise(key: string, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let state = createHash('sha256').update(key).digest().readUInt32LE(0) || 1
  for (let i = 0; i < length; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[i] = state >>> 24
  }
  return bytes
}

/** tEXt holds Latin-1 only; like Pillow, anything else goes into an iTXt chunk. */
function textChunk(keyword: string, text: string): Buffer {
  const isLatin1 = Buffer.from(text, 'latin1').toString('latin1') === text
  const body = isLatin1
    ? Buffer.concat([Buffer.from(`tEXt${keyword}\0`, 'latin1'), Buffer.from(text, 'latin1')])
    : Buffer.concat([Buffer.from(`iTXt${keyword}\0\0\0\0\0`, 'latin1'), Buffer.from(text, 'utf8')])
  const chunk = Buffer.alloc(body.length + 8)
  chunk.writeUInt32BE(body.length - 4, 0)
  body.copy(chunk, 4)
  chunk.writeUInt32BE(crc32(body), body.length + 4)
  return chunk
}
