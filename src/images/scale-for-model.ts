import type { ViewableImage } from '../core/images/ports.js'

/** Pixels of the longer side and WebP quality; what is still mostly noise needs the later ones. */
const LADDER = [
  { side: 1024, quality: 80 },
  { side: 768, quality: 60 },
  { side: 512, quality: 40 },
] as const

/** A published PNG for a reader that takes few bytes: as it is where it fits, else as a smaller WebP. */
export async function scaleForModel(png: Buffer, maxBytes: number): Promise<ViewableImage | undefined> {
  if (png.length <= maxBytes) return { bytes: png, mimeType: 'image/png', scaledDown: false }
  // Loaded with its first use: most servers never show an image.
  const { default: sharp } = await import('sharp')
  for (const { side, quality } of LADDER) {
    const bytes = await sharp(png)
      .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
      .webp({ quality })
      .toBuffer()
    if (bytes.length <= maxBytes) return { bytes, mimeType: 'image/webp', scaledDown: true }
  }
  return undefined
}
