export interface ImageStore {
  /**
   * Stores a PNG under its slug, replacing what an earlier attempt left; resolves once it is durable and readable.
   * @param isWanted asked at the last moment, so that an attempt which was taken over meanwhile replaces nothing
   * @returns false when it was not wanted any more
   */
  put(slug: string, png: Buffer, isWanted?: () => Promise<boolean>): Promise<boolean>
  remove(slug: string): Promise<void>
  /** Rejects unless a picture could be stored now; asked after a put has failed. */
  check(): Promise<void>
  /** The permanent public URL. */
  url(slug: string): string
}

/** The published files, for those who may have more than the public link gives. */
export interface PictureFiles {
  /** The public file as it is; undefined when there is none. */
  read(slug: string): Promise<Buffer | undefined>
  /** The same picture with a text in it that says how it was made, as other tools read it. */
  withInfotext(png: Buffer, infotext: string): Buffer
}
