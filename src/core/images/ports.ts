/** Ports to what holds the files of images. */
import type { Readable } from 'node:stream'

/** An image's name in its URLs. */
export const SLUG = /^[0-9A-Za-z]{22}$/
/** The name of an image's file, or of its thumbnail's. */
export const IMAGE_FILE = /^([0-9A-Za-z]{22})\.(?:png|webp)$/
/** What a check of an image store stores and removes again. */
export const PROBE_FILE = /^\.probe\.[0-9a-f]{16}\.(?:png|webp)$/

/** One attempt of a generation. */
interface Attempt {
  readonly id: string
  readonly attempt: number
}

/** The store takes images, but not this one, which is too large. */
export class ImageTooLarge extends Error {}

/** What a store lacks that takes images all the same, as sentences for the operator. */
export interface StoreLacks {
  /** Something will fail. */
  readonly problem?: string | undefined
  /** Easel does without it. */
  readonly missing?: string | undefined
}

export interface ImageStore {
  /**
   * Stores a PNG under its slug, with its thumbnail (a WebP) if it has one, and replaces what an earlier attempt left.
   * Resolves once both are durable and readable, to false if they were not wanted any more.
   * @throws ImageTooLarge; any other error says that no image can be stored, in a sentence for the operator
   */
  put(slug: string, png: Buffer, options?: PutOptions): Promise<boolean>
  /** Removes the image and its thumbnail. */
  remove(slug: string): Promise<void>
  /**
   * Stores an image as large as any, with its thumbnail, in the same way as a put, and removes both. Rejects if images
   * can't be stored now. What puts can do without, such as checksums, is left out of them from then on if the store
   * refuses it.
   */
  check(): Promise<StoreLacks>
  /** The permanent public URL. */
  url(slug: string): string
  thumbnailUrl(slug: string): string
}

export interface PutOptions {
  /** Called at the last moment, so that an attempt that was taken over replaces nothing. */
  readonly isWanted?: () => Promise<boolean>
  readonly thumbnail?: Buffer | undefined
  /** The attempt that drew it; who uploads through the server must say it. */
  readonly by?: Attempt | undefined
  readonly signal?: AbortSignal | undefined
}

/** The published files, for their owner. */
export interface ImageFiles {
  read(slug: string): Promise<Buffer | undefined>
  /** The same image with a text chunk that says how it was made, as other tools read it. */
  withInfotext(png: Buffer, infotext: string): Buffer
  /** The same image in fewer bytes, nearly as good. */
  webpOf(png: Buffer): Promise<Buffer>
  /** A ZIP that is written while it is read: each file is asked for when those before it have gone. Ends them when it is closed. */
  zipOf(files: AsyncIterable<ArchivedFile>): Readable
}

export interface ArchivedFile {
  readonly name: string
  /** When it was made. */
  readonly at: Date
  /** In parts where they are many. */
  readonly bytes: Buffer | AsyncIterable<Buffer>
}

/** A published image in few bytes. */
export interface ViewableImage {
  readonly bytes: Buffer
  readonly mimeType: 'image/png' | 'image/webp'
  readonly scaledDown: boolean
}

/** What a worker without a key of the image store may have done for it. */
export interface UploadRights {
  /** Whether this attempt runs now, and the image is one of its generation's and not published. */
  mayStore(attempt: Attempt, slug: string): Promise<boolean>
}

/** What a client asks for, in the words of HTTP. */
export interface FileRequest {
  /** As IMAGE_FILE has it. */
  readonly name: string
  /** It wants no body. */
  readonly head: boolean
  readonly range?: string | undefined
  readonly ifMatch?: string | undefined
  readonly ifUnmodifiedSince?: string | undefined
  readonly ifNoneMatch?: string | undefined
  readonly ifModifiedSince?: string | undefined
}

/** A file in a directory, or the answer of an object store. */
export type PublicFile =
  | { readonly directory: string }
  | {
      readonly status: 200 | 206 | 304 | 412 | 416
      readonly headers: Readonly<Record<string, string>>
      readonly body?: Readable | undefined
    }

/** Resolves to undefined when there is no such file; rejects while the store is away. */
export type OpenPublicFile = (request: FileRequest) => Promise<PublicFile | undefined>

/** A published image, as its page shows it to anyone who has the link: no prompt, no name. */
export interface PublishedImage {
  readonly slug: string
  readonly modelName: string
  /** In pixels. */
  readonly width: number
  readonly height: number
  readonly seed: number
  readonly createdAt: Date
  readonly hasThumbnail: boolean
  readonly removed: boolean
  readonly ownerId: string
  /** Only its owner and operators see it, and who has a signed link. */
  readonly isPrivate: boolean
  /** How often its owner has taken back all links to it. */
  readonly linkRevocations: number
}

export interface PublishedImages {
  find(slug: string): Promise<PublishedImage | undefined>
}
