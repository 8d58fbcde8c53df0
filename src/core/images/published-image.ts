/** A published image, as its page shows it to anyone who has the link: no prompt, no user. */
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
}

export interface PublishedImages {
  find(slug: string): Promise<PublishedImage | undefined>
}
