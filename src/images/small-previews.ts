import type { PreviewBoard } from '../core/generations/ports.js'
import { openImage } from './reencode-png.js'

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
