import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { makeZip } from 'client-zip'
import sharp from 'sharp'
import type { ArchivedFile, ImageFiles } from '../core/images/ports.js'

/** So that a large file's checksum does not hold up other requests. */
const CHUNK = 64 * 1024

export const zipOf: ImageFiles['zipOf'] = (files) => {
  const iterator = files[Symbol.asyncIterator]()
  const entries = entriesOf({ [Symbol.asyncIterator]: () => iterator })
  const zip = Readable.fromWeb(makeZip(entries) as ReadableStream<Uint8Array>)
  // Nobody else ends them when a file failed, or when nothing was read.
  return zip.once('close', () => void iterator.return?.().catch(() => undefined))
}

async function* entriesOf(files: AsyncIterable<ArchivedFile>) {
  for await (const { name, at, bytes } of files)
    yield { name, lastModified: at, input: Buffer.isBuffer(bytes) ? chunksOf(bytes) : bytes }
}

async function* chunksOf(bytes: Buffer) {
  for (let from = 0; from < bytes.length; from += CHUNK) yield bytes.subarray(from, from + CHUNK)
}

/** At which nothing of a drawn image is seen to be missing. */
const WEBP_QUALITY = 90

export const webpOf: ImageFiles['webpOf'] = (png) => sharp(png).webp({ quality: WEBP_QUALITY }).toBuffer()
