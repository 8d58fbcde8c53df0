import sharp from 'sharp'
import type { GenerationParameters } from '../core/generations/generation.js'
import { BackendError } from '../core/generations/run/backend.js'
import { decodable } from '../core/images/image-bytes.js'
import { reasonOf } from '../lib/causes.js'
import type { Bad } from './backend-failure.js'
import { kindOfBytes } from './server-reply.js'

type Size = Pick<GenerationParameters, 'width' | 'height'>

/**
 * Decodes base64 (or a data URL) and checks the size. `infotext`: the parameters that the server wrote into it.
 * @param scale the image's size divided by the asked one; where it is not 1, `size` is the image's
 */
export async function drawnImage(base64: string, asked: Size, bad: Bad, scale = 1) {
  if (/^https?:/.test(base64)) throw bad('sent the address of an image instead of its data')
  const data = base64.replace(/^data:[^,]*,/, '')
  if (NOT_BASE64.test(data)) throw bad('sent an image that is not base64')
  const bytes = Buffer.from(data, 'base64')
  const { comments, width, height } = await requireSize(bytes, asked, bad, scale)
  const infotext = comments?.find(({ keyword }) => keyword === 'parameters')?.text
  return { bytes, infotext, ...(scale !== 1 && { size: { width, height } }) }
}

/** How far from the exact size an upscaled image may be, in pixels of the asked one: latents have 8. */
const ROUNDED = 8

/**
 * Reads the image's header and checks its size. The pixels are decoded later, to be stored.
 * @param scale the image's size divided by the asked one; a scaled size may be rounded
 * @param otherSize makes the error for an image of another size, unless only its multiple is another one
 */
export async function requireSize(bytes: Buffer, asked: Size, bad: Bad, scale = 1, otherSize = bad) {
  const header = await headerOf(bytes).catch((error) => {
    throw bad(`sent an image that cannot be read: ${whyUnreadable(bytes, error)}`)
  })
  const off = Math.max(Math.abs(header.width - asked.width * scale), Math.abs(header.height - asked.height * scale))
  if (off <= (scale === 1 ? 0 : ROUNDED * Math.max(scale, 1))) return header
  const [width, height] = [Math.round(asked.width * scale), Math.round(asked.height * scale)]
  const drew = `drew ${header.width}x${header.height} instead of ${width}x${height}`
  const multiple = roundedTo(asked, { width: header.width / scale, height: header.height / scale })
  if (multiple === undefined) throw otherSize(drew)
  throw new BackendError(
    'unsupported',
    bad(`${drew}: give the model version "size_multiple": ${multiple}, and no request can ask for other sizes`).message,
    `width and height must be multiples of ${multiple} for this model.`,
  )
}

/** Sides in pixels that an element of a latent may have, beyond the usual 8. */
const MULTIPLES = [16, 32, 64]

/**
 * The multiple to which a server has rounded a size, as ComfyUI makes a plain empty latent fit the model; undefined for
 * another size altogether.
 */
const roundedTo = (asked: Size, drawn: Size): number | undefined =>
  MULTIPLES.find((multiple) =>
    (['width', 'height'] as const).every((side) => {
      const own = Math.round(drawn[side])
      return own % multiple === 0 && Math.abs(own - asked[side]) < multiple
    }),
  )

const NOT_BASE64 = /[^\w+/\s=-]/

const IMAGE = /^(\x89PNG|\xff\xd8\xff|RIFF....WEBP)/s

const whyUnreadable = (bytes: Buffer, error: unknown): string =>
  IMAGE.test(bytes.toString('latin1', 0, 12))
    ? `it is damaged, or cut off after ${bytes.length} bytes (${reasonOf(error)})`
    : `it is ${kindOfBytes(bytes)} instead of a PNG, JPEG or WebP`

const headerOf = async (bytes: Buffer) => sharp(decodable(bytes)).metadata()

/** A field of an infotext by its name; undefined where the server did not write it. */
export type Fields = (key: string) => string | undefined

/** An infotext is the prompts, which may say anything, and then one line of `Key: value, …` that the server wrote. */
export function fieldsOf(infotext: string): Fields {
  const line = infotext.slice(infotext.lastIndexOf('\n') + 1)
  return (key) => new RegExp(`(?:^|, )${key}: ("(?:\\\\.|[^"\\\\])*"|[^,]*)`).exec(line)?.[1]?.replace(/^"|"$/g, '')
}
