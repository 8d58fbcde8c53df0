import { crc32 } from 'node:zlib'

export interface PngChunk {
  readonly name: string
  readonly data: Buffer
}

/**
 * The chunks of a PNG in file order.
 * @throws Error when the signature, a length or a checksum is wrong, or bytes follow IEND
 */
export function pngChunks(png: Buffer): PngChunk[] {
  if (png.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('no PNG signature')
  const chunks: PngChunk[] = []
  for (let at = 8; at < png.length; ) {
    const dataEnd = at + 8 + png.readUInt32BE(at)
    const name = png.toString('latin1', at + 4, at + 8)
    if (png.readUInt32BE(dataEnd) !== crc32(png.subarray(at + 4, dataEnd))) throw new Error(`wrong checksum of ${name}`)
    chunks.push({ name, data: png.subarray(at + 8, dataEnd) })
    at = dataEnd + 4
    if (name === 'IEND' && at !== png.length) throw new Error('bytes after IEND')
  }
  if (chunks.at(-1)?.name !== 'IEND') throw new Error('no IEND')
  return chunks
}

/** The XMP packet of an uncompressed iTXt chunk, or undefined when there is none in that form. */
export function xmpOf(png: Buffer): string | undefined {
  const prefix = 'XML:com.adobe.xmp\0\0\0\0\0'
  const texts = pngChunks(png).filter(({ name, data }) => name === 'iTXt' && data.toString('latin1').startsWith(prefix))
  return texts[0]?.data.toString('utf8', prefix.length)
}
