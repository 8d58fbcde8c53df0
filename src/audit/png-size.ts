import { crc32 } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Length, type and checksum around a chunk's data. */
const OVERHEAD = 12

/** The pixels of a whole PNG; undefined unless every chunk from IHDR to IEND is there with its checksum, and no more. */
export function pngSize(png: Buffer): { readonly width: number; readonly height: number } | undefined {
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return undefined
  let size: { width: number; height: number } | undefined
  for (let at = SIGNATURE.length; at + OVERHEAD <= png.length; ) {
    const end = at + OVERHEAD + png.readUInt32BE(at)
    if (end > png.length || crc32(png.subarray(at + 4, end - 4)) !== png.readUInt32BE(end - 4)) return undefined
    const type = png.toString('latin1', at + 4, at + 8)
    if (!size) {
      if (type !== 'IHDR' || end - at !== OVERHEAD + 13) return undefined
      size = { width: png.readUInt32BE(at + 8), height: png.readUInt32BE(at + 12) }
    }
    if (type === 'IEND') return end === png.length ? size : undefined
    at = end
  }
  return undefined
}
