import sharp, { type Metadata } from 'sharp'
import { decodable } from '../image-bytes.js'

/** Makes an error of what is wrong with a reply. */
export type Bad = (what: string, cause?: unknown) => Error

interface DrawnImage {
  readonly bytes: Buffer
  /** What the server wrote into the image about how it was drawn. */
  readonly infotext: string | undefined
}

interface Size {
  readonly width: number
  readonly height: number
}

/** An image out of a reply's base64 (or data URL), held against the size that was asked for. */
export async function drawnImage(base64: string, asked: Size, bad: Bad): Promise<DrawnImage> {
  const bytes = Buffer.from(base64.replace(/^data:[^,]*,/, ''), 'base64')
  const { comments } = await requireSize(bytes, asked, bad)
  return { bytes, infotext: comments?.find(({ keyword }) => keyword === 'parameters')?.text }
}

/** What an image's header says, which is held against the size. Whoever stores the image decodes it. */
export async function requireSize(bytes: Buffer, asked: Size, bad: Bad): Promise<Metadata> {
  const header = await headerOf(bytes, bad)
  if (header.width !== asked.width || header.height !== asked.height)
    throw bad(`drew ${header.width}x${header.height} instead of ${asked.width}x${asked.height}`)
  return header
}

async function headerOf(bytes: Buffer, bad: Bad): Promise<Metadata> {
  try {
    return await sharp(decodable(bytes)).metadata()
  } catch (error) {
    throw bad('sent an image that cannot be read', error)
  }
}

/** A field of an infotext by its name; undefined where the server did not write it. */
export type Fields = (key: string) => string | undefined

/** An infotext is the prompts, which may say anything, and then one line of `Key: value, …` that the server wrote. */
export function fieldsOf(infotext: string): Fields {
  const line = infotext.slice(infotext.lastIndexOf('\n') + 1)
  return (key) => new RegExp(`(?:^|, )${key}: ("(?:\\\\.|[^"\\\\])*"|[^,]*)`).exec(line)?.[1]?.replace(/^"|"$/g, '')
}
