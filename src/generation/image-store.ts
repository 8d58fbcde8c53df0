export interface ImageStore {
  /**
   * Stores a PNG under its slug, and replaces what an earlier attempt left. Resolves once it is durable and readable.
   * @param isWanted asked at the last moment, so that an attempt that was taken over replaces nothing
   * @returns false when it was not wanted any more
   */
  put(slug: string, png: Buffer, isWanted?: () => Promise<boolean>): Promise<boolean>
  remove(slug: string): Promise<void>
  /** Rejects unless an image could be stored now; asked after a put has failed. */
  check(): Promise<void>
  /** The permanent public URL. */
  url(slug: string): string
}

/** The published files, for their owner. */
export interface ImageFiles {
  /** The public file as it is; undefined when there is none. */
  read(slug: string): Promise<Buffer | undefined>
  /** The same image with a text chunk that says how it was made, as other tools read it. */
  withInfotext(png: Buffer, infotext: string): Buffer
}
