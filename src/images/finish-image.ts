import { webcrypto } from 'node:crypto'
import sharp, { type Sharp } from 'sharp'
import type { PreviewBoard } from '../core/generations/ports.js'
import { BackendError } from '../core/generations/run/backend.js'
import type { FinishedImage, FinishImage } from '../core/generations/run/publish.js'
import { MAX_IMAGE_PIXELS } from '../core/generations/submit/requested.js'
import { decodable } from '../core/images/image-bytes.js'
import { plainPixels, withUncompressedPng } from './plain-png.js'
import { generatedByAi, publishablePng } from './png-text.js'

type Expected = Parameters<FinishImage>[1]

const CHANNELS = 3

/**
 * Turns what a backend returned into the file that is published: an 8-bit sRGB PNG without alpha and without any of
 * the backend's metadata (servers write the prompt there), which says that it is AI-generated, with its seed and model.
 * A plain PNG keeps its compressed pixels: encoding them anew takes several times as long as checking them. The same
 * arguments give the same file; `sha256` is that of the whole file, in lower-case hex. With a thumbnail, unless making
 * it fails. Inflating, decoding, encoding and hashing run off the main thread.
 * @throws BackendError `bad_output` when the bytes are no PNG, JPEG or WebP, are cut short or damaged, have another
 * size than asked for, or show a single colour, as a model that ran into NaN draws
 */
export async function finishImage(bytes: Buffer, expected: Expected): Promise<FinishedImage> {
  const { width, height } = expected
  const plain = width * height <= MAX_PIXELS ? await plainPixels(bytes, expected) : undefined
  const pixels = plain ? undefined : await decode(bytes, expected)
  const xmp = generatedByAi(expected)
  const png = publishablePng(pixels ? await encode(pixels, expected) : bytes, xmp)
  // Neither inflates nor decodes a second time.
  const shrunk = plain
    ? withUncompressedPng(plain, expected, (uncompressed) => shrinkToThumbnail(sharp(uncompressed), xmp))
    : shrinkToThumbnail(ofPixels(pixels as Buffer, expected), xmp)
  const [digest, thumbnail] = await Promise.all([
    webcrypto.subtle.digest('SHA-256', png),
    shrunk.catch(() => undefined),
  ])
  return { png, sha256: Buffer.from(digest).toString('hex'), thumbnail }
}

const ofPixels = (pixels: Buffer, { width, height }: Expected): Sharp =>
  sharp(pixels, { raw: { width, height, channels: CHANNELS } })

const encode = (pixels: Buffer, expected: Expected) =>
  ofPixels(pixels, expected).png({ compressionLevel: 4, adaptiveFiltering: true, palette: false }).toBuffer()

/** Of the longer side, in pixels: a row of the gallery on a dense screen. */
const THUMBNAIL_SIDE = 512

const shrinkToThumbnail = (image: Sharp, xmp: string): Promise<Buffer> =>
  image
    .timeout({ seconds: MAX_SECONDS })
    .resize({ width: THUMBNAIL_SIDE, height: THUMBNAIL_SIDE, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 66, effort: 1 })
    .withXmp(xmp)
    .toBuffer()

/** Resolves to width × height × RGB. */
async function decode(bytes: Buffer, { width, height }: Expected): Promise<Buffer> {
  let pixels: Buffer
  try {
    const image = openImage(bytes)
    const found = await image.metadata()
    if (found.width !== width || found.height !== height)
      throw badOutput(`the backend drew ${found.width}x${found.height} instead of ${width}x${height}`)
    pixels = await image.flatten().toColourspace('srgb').raw({ depth: 'uchar' }).toBuffer()
  } catch (error) {
    if (error instanceof BackendError) throw error
    throw badOutput(`the backend's image can't be decoded: ${error instanceof Error ? error.message : error}`, error)
  }
  if (pixels.length !== width * height * CHANNELS) throw badOutput("the backend's image is not RGB")
  // Every pixel equals its neighbour: one native comparison that ends at the first difference.
  if (pixels.subarray(CHANNELS).equals(pixels.subarray(0, -CHANNELS)))
    throw badOutput(`the backend drew a single colour, ${pixels.toString('hex', 0, CHANNELS)}`)
  return pixels
}

/** Above the largest preview of a batch, too, and far below what a decompression bomb needs. */
const MAX_PIXELS = MAX_IMAGE_PIXELS
const MAX_SECONDS = 20

/**
 * A backend's image, for sharp to decode within bounds.
 * @throws Error when it is no PNG, JPEG or WebP
 */
const openImage = (bytes: Buffer): Sharp =>
  sharp(decodable(bytes), { failOn: 'error', limitInputPixels: MAX_PIXELS }).timeout({ seconds: MAX_SECONDS })

const badOutput = (message: string, cause?: unknown) =>
  new BackendError('bad_output', message, 'The image came out damaged and could not be used; try again.', { cause })

/** As a data URI, a third longer, it stays below 24 KiB. */
const MAX_BYTES = 17 * 1024
/** Pixels of the longer side and WebP quality; what is still mostly noise needs the later ones. */
const LADDER = [
  { side: 256, quality: 60 },
  { side: 256, quality: 30 },
  { side: 128, quality: 60 },
  { side: 64, quality: 30 },
]

/** Shrinks what backends show to a WebP of some kilobytes, without metadata; what is no image is not shown. */
export const smallPreviews = (board: PreviewBoard): PreviewBoard => ({
  async set(id, attempt, image) {
    const small = await shrink(image)
    if (small) await board.set(id, attempt, small)
  },
  get: (id) => board.get(id),
})

async function shrink(image: Buffer): Promise<Buffer | undefined> {
  for (const { side, quality } of LADDER) {
    const webp = await openImage(image)
      .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
      .webp({ quality })
      .toBuffer()
    if (webp.length <= MAX_BYTES) return webp
  }
  return undefined
}
