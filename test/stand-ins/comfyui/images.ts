import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import sharp from 'sharp'

/**
 * A PNG of coloured 8-pixel blocks, the same for the same key, and black without one, with the prompt in a text chunk, as ComfyUI writes it.
 */
export async function drawImage(
  width: number,
  height: number,
  key: string | undefined,
  prompt: object,
): Promise<Buffer> {
  const cells = { width: Math.ceil(width / 8), height: Math.ceil(height / 8) }
  const outputLength = cells.width * cells.height * 3
  const noise =
    key === undefined ? Buffer.alloc(outputLength) : createHash('shake256', { outputLength }).update(key).digest()
  const png = await sharp(noise, { raw: { ...cells, channels: 3 } })
    .resize(width, height, { fit: 'fill', kernel: 'nearest' })
    .png({ compressionLevel: 2 })
    .toBuffer()
  const afterHeader = 33 // signature 8, IHDR 25
  // Python's json.dumps leaves nothing beyond ASCII.
  const ascii = JSON.stringify(prompt).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return Buffer.concat([png.subarray(0, afterHeader), textChunk('prompt', ascii), png.subarray(afterHeader)])
}

function textChunk(keyword: string, text: string): Buffer {
  const body = Buffer.from(`tEXt${keyword}\0${text}`, 'latin1')
  const chunk = Buffer.alloc(body.length + 8)
  chunk.writeUInt32BE(body.length - 4, 0)
  body.copy(chunk, 4)
  chunk.writeUInt32BE(crc32(body), body.length + 4)
  return chunk
}
