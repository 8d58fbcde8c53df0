/** A published picture, as its page shows it to anyone who has the link: no prompt, no user. */
export interface Picture {
  readonly slug: string
  readonly modelName: string
  readonly width: number
  readonly height: number
  readonly seed: number
  readonly createdAt: Date
  readonly removed: boolean
}

export interface PictureStore {
  find(slug: string): Promise<Picture | undefined>
}
