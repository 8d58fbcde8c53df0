/** The chunks of a PNG that its pixels need. Of the others, a few compressed bytes may unpack to megabytes. */
const NEEDED = new Set(['IHDR', 'PLTE', 'tRNS', 'iCCP', 'IDAT', 'IEND'])
/** Far more than an encoder writes. Of empty ones a reply could hold millions, and each takes us some hundred bytes. */
const MOST_CHUNKS = 2 ** 16
/** Where servers write how they drew an image, in the two forms that are not compressed. */
const INFOTEXTS = ['tEXtparameters\0', 'iTXtparameters\0\0']
const SIGNATURE = '\x89PNG\r\n\x1a\n'

/**
 * What a decoder may be given of a backend's image. Only PNG, JPEG and WebP, by their first bytes: sharp would also
 * open SVG, PDF and others, and an SVG can keep it busy for minutes. Of a PNG only its pixels' chunks and its infotext.
 * @throws Error that says that it is none of the three, or has too many chunks
 */
export function decodable(bytes: Buffer): Buffer {
  const head = bytes.toString('latin1', 0, 12)
  if (head.startsWith('\xff\xd8\xff') || (head.startsWith('RIFF') && head.endsWith('WEBP'))) return bytes
  if (!head.startsWith(SIGNATURE)) throw new Error(`${bytes.length} bytes that are no PNG, JPEG or WebP`)
  const chunks = [...pngChunks(bytes)]
  if (chunks.length === MOST_CHUNKS) throw new Error(`a PNG of ${MOST_CHUNKS} chunks or more`)
  const needed = chunks.filter(
    ({ name, chunk }) =>
      NEEDED.has(name) || INFOTEXTS.some((text) => chunk.toString('latin1', 4, 4 + text.length) === text),
  )
  if (needed.length === chunks.length) return bytes
  return Buffer.concat([bytes.subarray(0, SIGNATURE.length), ...needed.map(({ chunk }) => chunk)])
}

/**
 * The first MOST_CHUNKS chunks of a PNG, each with its length and checksum; neither is looked at, and the last one may be
 * cut short.
 */
export function* pngChunks(png: Buffer): Generator<{ readonly name: string; readonly chunk: Buffer }> {
  for (let at = SIGNATURE.length, count = 0; at + 8 <= png.length && count < MOST_CHUNKS; count++) {
    const end = at + png.readUInt32BE(at) + 12
    yield { name: png.toString('latin1', at + 4, at + 8), chunk: png.subarray(at, end) }
    at = end
  }
}

export const lengthOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0)
