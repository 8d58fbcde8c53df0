/** Decodes a backend's image and encodes it anew, unless its PNG is plain (plain-png.ts). */
import sharp, { type Sharp } from 'sharp'
import { BackendError } from '../core/generations/run/backend.js'
import type { FinishImage } from '../core/generations/run/publish.js'
import { MAX_IMAGE_PIXELS } from '../core/generations/submit/requested.js'
import { decodable } from '../core/images/image-bytes.js'
import { reasonOf } from '../lib/causes.js'

export type Expected = Parameters<FinishImage>[1]

const CHANNELS = 3

export const ofPixels = (pixels: Buffer, { width, height }: Expected): Sharp =>
  sharp(pixels, { raw: { width, height, channels: CHANNELS } })

export const encodePng = (pixels: Buffer, expected: Expected) =>
  ofPixels(pixels, expected).png({ compressionLevel: 4, adaptiveFiltering: true, palette: false }).toBuffer()

/** Checks the image of a backend, and resolves to its pixels: width × height × RGB. @throws BackendError `bad_output` */
export async function decodeImage(bytes: Buffer, { width, height }: Expected): Promise<Buffer> {
  let pixels: Buffer
  try {
    const image = openImage(bytes)
    const found = await image.metadata()
    if (found.width !== width || found.height !== height)
      throw badOutput(`the backend drew ${found.width}x${found.height} instead of ${width}x${height}`)
    // What is transparent lies on white, as browsers and picture viewers show it.
    pixels = await image.flatten({ background: 'white' }).toColourspace('srgb').raw({ depth: 'uchar' }).toBuffer()
  } catch (error) {
    if (error instanceof BackendError) throw error
    throw badOutput(`the backend's image can't be decoded: ${reasonOf(error)}`, error)
  }
  if (pixels.length !== width * height * CHANNELS) throw badOutput("the backend's image is not RGB")
  // Every pixel equals its neighbour: one native comparison that ends at the first difference.
  if (pixels.subarray(CHANNELS).equals(pixels.subarray(0, -CHANNELS)))
    throw badOutput(`the backend drew a single colour, ${pixels.toString('hex', 0, CHANNELS)}`)
  return pixels
}

/** Above the largest preview of a batch, too, and far below what a decompression bomb needs. */
export const MAX_PIXELS = MAX_IMAGE_PIXELS
export const MAX_SECONDS = 20

/**
 * A backend's image, for sharp to decode within bounds.
 * @throws Error when it is no PNG, JPEG or WebP
 */
export const openImage = (bytes: Buffer): Sharp =>
  sharp(decodable(bytes), { failOn: 'error', limitInputPixels: MAX_PIXELS }).timeout({ seconds: MAX_SECONDS })

const badOutput = (message: string, cause?: unknown) =>
  new BackendError('bad_output', message, 'The image came out damaged and could not be used; try again.', { cause })
