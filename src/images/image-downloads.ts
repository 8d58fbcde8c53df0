import { Readable } from 'node:stream'
import sharp from 'sharp'
import type { ImageFiles } from '../core/images/ports.js'
import { zipped } from '../lib/zip.js'

export const zipOf: ImageFiles['zipOf'] = (files) => {
  const iterator = files[Symbol.asyncIterator]()
  const zip = Readable.from(zipped({ [Symbol.asyncIterator]: () => iterator }), { objectMode: false })
  // Nobody else ends them when a file failed, or when nothing was read.
  return zip.once('close', () => void iterator.return?.().catch(() => undefined))
}

/** At which nothing of a drawn image is seen to be missing. */
const WEBP_QUALITY = 90

export const webpOf: ImageFiles['webpOf'] = (png) => sharp(png).webp({ quality: WEBP_QUALITY }).toBuffer()
