/** What a file has: rows as Postgres writes them as JSON, of which these columns are read here. */
export interface ArchiveContent {
  readonly generations: readonly { readonly id: string; readonly user_id: string; readonly model_name: string }[]
  readonly images: readonly {
    readonly slug: string
    readonly generation_id: string
    readonly seed: number
    readonly width: number
    readonly height: number
    readonly sha256: string
    readonly created_at: string
    readonly removed_at: string | null
    readonly has_thumbnail: boolean
    readonly private: boolean
    readonly link_revocations: number
  }[]
  readonly put_back_attempts: readonly { readonly generation_id: string }[]
}

/** How a file is found and opened. */
export interface FileRow {
  readonly id: string
  /** Null: it was brought back at this moment. */
  readonly key: Buffer | null
}
