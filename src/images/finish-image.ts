import { webcrypto } from 'node:crypto'
import sharp, { type Sharp } from 'sharp'
import type { FinishedImage } from '../core/generations/run/publish.js'
import { plainPixels, withUncompressedPng } from './plain-png.js'
import { generatedByAi, publishablePng } from './png-text.js'
import { decodeImage, type Expected, encodePng, MAX_PIXELS, MAX_SECONDS, ofPixels } from './reencode-png.js'

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
  const pixels = plain ? undefined : await decodeImage(bytes, expected)
  const xmp = generatedByAi(expected)
  const png = publishablePng(pixels ? await encodePng(pixels, expected) : bytes, xmp)
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

/** Of the longer side, in pixels: a row of the gallery on a dense screen. */
const THUMBNAIL_SIDE = 512

const shrinkToThumbnail = (image: Sharp, xmp: string): Promise<Buffer> =>
  image
    .timeout({ seconds: MAX_SECONDS })
    .resize({ width: THUMBNAIL_SIDE, height: THUMBNAIL_SIDE, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 66, effort: 1 })
    .withXmp(xmp)
    .toBuffer()
