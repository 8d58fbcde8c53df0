import type { EncodeCover } from '../core/catalog/cover.js'
import { openImage } from './reencode-png.js'

/** Three by two, as the picker shows it, on a dense screen. */
const SIZE = { width: 384, height: 256 }

export const encodeCover: EncodeCover = async (image) =>
  openImage(image)
    .rotate()
    .resize({ ...SIZE, fit: 'cover', position: 'attention' })
    .webp({ quality: 70 })
    .toBuffer()
