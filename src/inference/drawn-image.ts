import sharp from 'sharp'

/** Makes an error of what is wrong with a reply. */
export type Bad = (what: string, cause?: unknown) => Error

export interface DrawnImage {
  readonly bytes: Buffer
  /** What the server wrote into the picture about how it was drawn. */
  readonly infotext: string | undefined
}

/**
 * A picture out of a reply's base64 (or data URL), held against the size that was asked for. By the header alone;
 * whoever stores the picture decodes it.
 */
export async function drawnImage(
  base64: string,
  asked: { readonly width: number; readonly height: number },
  bad: Bad,
): Promise<DrawnImage> {
  const bytes = Buffer.from(base64.replace(/^data:[^,]*,/, ''), 'base64')
  const { width, height, comments } = await headerOf(bytes, bad)
  if (width !== asked.width || height !== asked.height)
    throw bad(`drew ${width}x${height} instead of ${asked.width}x${asked.height}`)
  return { bytes, infotext: comments?.find(({ keyword }) => keyword === 'parameters')?.text }
}

async function headerOf(bytes: Buffer, bad: Bad) {
  try {
    return await sharp(bytes).metadata()
  } catch (error) {
    throw bad('sent an image that cannot be read', error)
  }
}
