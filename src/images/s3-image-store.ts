import { IMAGE_FILE } from '../core/images/ports.js'
import { type AnyImageStore, EXTENSIONS, type Extension, fileName, publicUrls, sha256Of } from './any-image-store.js'
import { putImage } from './objects.js'
import { s3Bucket } from './s3-bucket.js'
import type { S3Storage } from './storage.js'

/** Images as objects `<prefix><slug>.png` of a bucket, and their thumbnails as `<prefix><slug>.webp`. */
export function s3ImageStore(storage: S3Storage, cdnBaseUrl: string, probeBytes?: number): AnyImageStore {
  const bucket = s3Bucket(storage, probeBytes)
  const read = async (slug: string, extension?: Extension) => bucket.read(fileName(slug, extension))
  const changedAt = async (slug: string) => {
    const found = await Promise.all(EXTENSIONS.map((it) => bucket.head(fileName(slug, it))))
    return found.find((it) => it !== undefined)?.changedAt
  }
  return {
    put: (slug, png, options) => putImage(bucket.objects, slug, png, options),

    async remove(slug) {
      await Promise.all(EXTENSIONS.map((it) => bucket.remove(fileName(slug, it))))
    },

    check: bucket.check,
    read: (slug) => read(slug),
    readThumbnail: (slug) => read(slug, 'webp'),

    async sha256(slug, extension) {
      const found = await bucket.head(fileName(slug, extension))
      if (found?.sha256 !== undefined) return Buffer.from(found.sha256, 'base64').toString('hex')
      const bytes = found && (await read(slug, extension))
      return bytes && sha256Of(bytes).digest('hex')
    },

    changedAt,
    exists: async (slug) => (await changedAt(slug)) !== undefined,

    async *all() {
      for await (const names of bucket.list()) yield names.flatMap((name) => IMAGE_FILE.exec(name)?.[1] ?? [])
    },

    open: bucket.open,
    ...publicUrls(cdnBaseUrl),
  }
}
