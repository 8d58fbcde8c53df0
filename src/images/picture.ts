import { webcrypto } from 'node:crypto'
import sharp from 'sharp'
import { BackendError } from '../generation/backend.js'
import { publishablePng } from './png.js'
import { generatedByAi } from './xmp.js'

/** A picture as it is published. */
export interface FinishedPicture {
  readonly png: Buffer
  /** Of the whole file, lower-case hex. */
  readonly sha256: string
  readonly seed: number
  /** Pixels. */
  readonly width: number
  readonly height: number
  /** Length of the file. */
  readonly bytes: number
}

/** What the picture must be, and what it says about itself. */
export interface PictureFacts {
  /** Pixels. */
  readonly width: number
  readonly height: number
  readonly seed: number
  /** The model's name as people know it. */
  readonly model: string
}

/** Far above the largest size on offer, far below what a decompression bomb needs. */
const MAX_PIXELS = 2 ** 24
const CHANNELS = 3

const MAGICS: readonly { readonly at: number; readonly bytes: Buffer }[][] = [
  [{ at: 0, bytes: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1') }],
  [{ at: 0, bytes: Buffer.from('\xff\xd8\xff', 'latin1') }],
  [
    { at: 0, bytes: Buffer.from('RIFF') },
    { at: 8, bytes: Buffer.from('WEBP') },
  ],
]

/**
 * Turns what a backend returned into the file that is published: an 8-bit sRGB PNG without alpha and without any of
 * the backend's metadata (servers write the prompt there), which says that it is AI-generated, with its seed and model.
 * The same bytes and facts give the same file. Decoding, encoding and hashing run off the main thread.
 * @throws BackendError `bad_output` when the bytes are no PNG, JPEG or WebP, are cut short or damaged, have another
 * size than asked for, or show a single colour, as a model that ran into NaN draws
 */
export async function finishPicture(bytes: Buffer, facts: PictureFacts): Promise<FinishedPicture> {
  const pixels = await decode(bytes, facts)
  const { width, height, seed } = facts
  const encoded = await sharp(pixels, { raw: { width, height, channels: CHANNELS } })
    .png({ compressionLevel: 4, adaptiveFiltering: true, palette: false })
    .toBuffer()
  const png = publishablePng(encoded, generatedByAi(facts))
  const digest = Buffer.from(await webcrypto.subtle.digest('SHA-256', png))
  return { png, sha256: digest.toString('hex'), seed, width, height, bytes: png.length }
}

/** Resolves to width × height × RGB. */
async function decode(bytes: Buffer, { width, height }: PictureFacts): Promise<Buffer> {
  if (
    !MAGICS.some((magic) =>
      magic.every((part) => bytes.subarray(part.at, part.at + part.bytes.length).equals(part.bytes)),
    )
  )
    throw badOutput(`the backend's answer of ${bytes.length} bytes is no PNG, JPEG or WebP`)
  const image = sharp(bytes, { failOn: 'error', limitInputPixels: MAX_PIXELS })
  let pixels: Buffer
  try {
    const found = await image.metadata()
    if (found.width !== width || found.height !== height)
      throw badOutput(`the backend drew ${found.width}x${found.height} instead of ${width}x${height}`)
    pixels = await image.flatten().toColourspace('srgb').raw({ depth: 'uchar' }).toBuffer()
  } catch (error) {
    if (error instanceof BackendError) throw error
    throw badOutput(`the backend's picture can't be decoded: ${error instanceof Error ? error.message : error}`, error)
  }
  if (pixels.length !== width * height * CHANNELS) throw badOutput("the backend's picture is not RGB")
  // Every pixel equals its neighbour: one native comparison that ends at the first difference.
  if (pixels.subarray(CHANNELS).equals(pixels.subarray(0, -CHANNELS)))
    throw badOutput(`the backend drew a single colour, ${pixels.toString('hex', 0, CHANNELS)}`)
  return pixels
}

const badOutput = (message: string, cause?: unknown) =>
  new BackendError('bad_output', message, 'The picture came out damaged and could not be used; try again.', { cause })
