import { createHash } from 'node:crypto'
import type { AuditDatabase } from './audit-database.js'
import { type Check, counted } from './check.js'
import { pngSize } from './png-size.js'

export interface StoredPictures {
  /** Undefined: there is no such file. */
  read(slug: string): Promise<Buffer | undefined>
  exists(slug: string): Promise<boolean>
  /** The slugs of all files, in pages. */
  all(): AsyncIterable<readonly string[]>
  /** Undefined: the file has gone meanwhile. */
  changedAt(slug: string): Promise<Date | undefined>
}

/** Pictures looked at without --full, drawn at random. */
const SAMPLE = 1000
const PAGE = 500
/** Files read at a time. */
const AT_ONCE = 4
/** A picture is stored before its row; after this long the row should be there. */
const UNRECORDED_FOR_MS = 600_000

interface ImageRow {
  readonly slug: string
  readonly width: number
  readonly height: number
  readonly sha256: string
}

const STORED = 'removed_at IS NULL'
const REMOVED = 'removed_at IS NOT NULL'

/** Every picture is there, byte for byte, and a PNG of the size its row names. */
export async function picturesStored(db: AuditDatabase, pictures: StoredPictures, full: boolean): Promise<Check> {
  const isWrong = async ({ slug, width, height, sha256 }: ImageRow) => {
    const bytes = await pictures.read(slug)
    if (!bytes || createHash('sha256').update(bytes).digest('hex') !== sha256) return true
    const size = pngSize(bytes)
    return size?.width !== width || size.height !== height
  }
  const found: string[] = []
  for await (const rows of imageRows(db, STORED, full)) found.push(...(await suspects(rows, isWrong)))
  // Some may have been removed while we looked.
  const still = await db.rows<{ slug: string }>(`SELECT slug FROM images WHERE slug = ANY ($1) AND ${STORED}`, [found])
  return { name: 'images-are-stored-intact', ...counted(still.map(({ slug }) => slug)) }
}

/** What was taken down has no file any more. */
export async function removedPicturesGone(db: AuditDatabase, pictures: StoredPictures, full: boolean): Promise<Check> {
  const found: string[] = []
  for await (const rows of imageRows(db, REMOVED, full)) {
    found.push(...(await suspects(rows, ({ slug }) => pictures.exists(slug))))
  }
  return { name: 'removed-images-have-no-file', ...counted(found) }
}

/** Every file belongs to an image's row, or to a generation that may still get one. */
export async function filesRecorded(db: AuditDatabase, pictures: StoredPictures): Promise<Check> {
  const found: string[] = []
  for await (const slugs of pictures.all()) {
    const strangers = await db.rows<{ slug: string }>(
      `SELECT slug FROM unnest($1::text[]) AS f (slug)
        WHERE NOT EXISTS (SELECT FROM images i WHERE i.slug = f.slug)
          AND slug NOT IN (SELECT unnest(slugs) FROM generations WHERE status IN ('queued', 'processing'))`,
      [slugs],
    )
    for (const { slug } of strangers) {
      const changedAt = await pictures.changedAt(slug)
      if (changedAt && Date.now() - changedAt.getTime() > UNRECORDED_FOR_MS) found.push(slug)
    }
  }
  return { name: 'files-belong-to-images', ...counted(found) }
}

async function* imageRows(db: AuditDatabase, which: string, full: boolean): AsyncGenerator<ImageRow[]> {
  const columns = 'slug, width, height, sha256'
  if (!full) {
    yield await db.rows<ImageRow>(`SELECT ${columns} FROM images WHERE ${which} ORDER BY random() LIMIT ${SAMPLE}`)
    return
  }
  for (let after = ''; ; ) {
    const rows = await db.rows<ImageRow>(
      `SELECT ${columns} FROM images WHERE ${which} AND slug > $1 ORDER BY slug LIMIT ${PAGE}`,
      [after],
    )
    const last = rows.at(-1)
    if (!last) return
    after = last.slug
    yield rows
  }
}

async function suspects(rows: readonly ImageRow[], isWrong: (row: ImageRow) => Promise<boolean>): Promise<string[]> {
  const waiting = [...rows]
  const found: string[] = []
  const look = async () => {
    for (let row = waiting.pop(); row; row = waiting.pop()) if (await isWrong(row)) found.push(row.slug)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, look))
  return found
}
