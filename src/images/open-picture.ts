import sharp, { type Sharp } from 'sharp'
import { decodable } from '../picture-bytes.js'

/** Far above the largest picture, and the largest preview of a batch, far below what a decompression bomb needs. */
const MAX_PIXELS = 2 ** 24
const MAX_SECONDS = 20

/**
 * A backend's picture, for sharp to decode within bounds.
 * @throws Error when it is no PNG, JPEG or WebP
 */
export const openPicture = (bytes: Buffer): Sharp =>
  sharp(decodable(bytes), { failOn: 'error', limitInputPixels: MAX_PIXELS }).timeout({ seconds: MAX_SECONDS })
