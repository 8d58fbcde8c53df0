/** What every kind of image store does. */
import { createHash, type Hash } from 'node:crypto'
import type { OpenPublicFile } from '../core/images/ports.js'
import { type ImageFiles, type ImageStore, SLUG } from '../core/images/ports.js'

/** Every method throws on a slug that isn't one. What the store refuses rejects, with a sentence for the operator. */
export interface AnyImageStore extends ImageStore, Pick<ImageFiles, 'read'> {
  readThumbnail(slug: string): Promise<Buffer | undefined>
  /** SHA-256 of a file's bytes, as hex; undefined: there is no such file. */
  sha256(slug: string, extension: Extension): Promise<string | undefined>
  /** Whether there is an image or a thumbnail. */
  exists(slug: string): Promise<boolean>
  /** Undefined: there is neither. */
  changedAt(slug: string): Promise<Date | undefined>
  /** The slugs of all files, in pages; one that has two files comes twice. */
  all(): AsyncIterable<readonly string[]>
  readonly open: OpenPublicFile
}

/** Of images and of their thumbnails. */
export const EXTENSIONS = ['png', 'webp'] as const
export type Extension = (typeof EXTENSIONS)[number]

/** The only place where a slug becomes a file's name: its 22 letters and digits can't leave the store. */
export function fileName(slug: string, extension: Extension = 'png'): string {
  if (!SLUG.test(slug)) throw new Error(`${JSON.stringify(slug)} is no image slug`)
  return `${slug}.${extension}`
}

/** The permanent public URLs, whatever the store. `cdnBaseUrl` has no slash at its end. */
export const publicUrls = (cdnBaseUrl: string) => ({
  url: (slug: string) => `${cdnBaseUrl}/${fileName(slug)}`,
  thumbnailUrl: (slug: string) => `${cdnBaseUrl}/${fileName(slug, 'webp')}`,
})

export const sha256Of = (bytes: Buffer): Hash => createHash('sha256').update(bytes)
