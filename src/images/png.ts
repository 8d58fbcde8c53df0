import { crc32 } from 'node:zlib'
import { pngChunks } from '../picture-bytes.js'

/** All that a published picture keeps of what the encoder wrote; sRGB and our own text are added. */
const KEPT = new Set(['IHDR', 'IDAT', 'IEND'])
const SIGNATURE_LENGTH = 8
/** Perceptual rendering intent, the usual one for pictures. */
const SRGB = chunk('sRGB', Buffer.from([0]))

/**
 * A PNG as it is published: the header, the XMP packet in one uncompressed iTXt chunk right after it, the mark of the
 * sRGB colour space, and the pixels. Every other chunk is left out. `encoded` is our own encoder's RGB output.
 */
export function publishablePng(encoded: Buffer, xmp: string): Buffer {
  const parts = [encoded.subarray(0, SIGNATURE_LENGTH)]
  for (const { name, chunk: kept } of pngChunks(encoded)) {
    if (KEPT.has(name)) parts.push(kept)
    if (name === 'IHDR') parts.push(chunk('iTXt', xmpText(xmp)), SRGB)
  }
  return Buffer.concat(parts)
}

/** Keyword, no compression, no language and no translated keyword: the form XMP readers look for (XMP part 3, 1.1.5). */
const xmpText = (xmp: string) => Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${xmp}`)

/** Length, name, data and checksum. */
export function chunk(name: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(data.length + 12)
  bytes.writeUInt32BE(data.length, 0)
  bytes.write(name, 4, 'latin1')
  data.copy(bytes, 8)
  bytes.writeUInt32BE(crc32(bytes.subarray(4, -4)), bytes.length - 4)
  return bytes
}
