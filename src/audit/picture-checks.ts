/** The files of pictures: every one that a row shows is there and whole, and there are no others. */
import { webcrypto } from 'node:crypto'
import { newSlug } from '../generation/generation.js'
import type { AuditDatabase } from './audit-database.js'
import { counted, type Violations } from './check.js'
import { pngSize } from './png-size.js'
import { NOT_ENDED } from './slices.js'

export interface StoredPictures {
  /** Undefined: there is no such file. */
  read(slug: string): Promise<Buffer | undefined>
  exists(slug: string): Promise<boolean>
  /** The slugs of all files, in pages. */
  all(): AsyncIterable<readonly string[]>
  /** Undefined: the file has gone meanwhile. */
  changedAt(slug: string): Promise<Date | undefined>
}

/** How many pictures to look at, drawn at random; all of them, when undefined. */
export type Sample = number | undefined

interface Pictures {
  readonly db: AuditDatabase
  readonly pictures: StoredPictures
  readonly sample: Sample
  /** Files may be many and slow: aborts between two of them. */
  readonly signal: AbortSignal
}

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
export async function picturesStored(looked: Pictures): Promise<Violations> {
  const { db, pictures } = looked
  const isWrong = async ({ slug, width, height, sha256 }: ImageRow) => {
    const bytes = await pictures.read(slug)
    if (!bytes || (await hashOf(bytes)) !== sha256) return true
    const size = pngSize(bytes)
    return size?.width !== width || size.height !== height
  }
  const found: string[] = []
  for await (const rows of imageRows(looked, STORED)) found.push(...(await suspects(looked, rows, isWrong)))
  // Some may have been removed while we looked.
  const still = await db.rows<{ slug: string }>(`SELECT slug FROM images WHERE slug = ANY ($1) AND ${STORED}`, [found])
  return counted(still.map(({ slug }) => slug))
}

/** Off the main thread, which may have requests to serve. */
const hashOf = async (bytes: Buffer) => Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')

/** What was taken down has no file any more. */
export async function removedPicturesGone(looked: Pictures): Promise<Violations> {
  const found: string[] = []
  const isThere = ({ slug }: ImageRow) => looked.pictures.exists(slug)
  for await (const rows of imageRows(looked, REMOVED)) found.push(...(await suspects(looked, rows, isThere)))
  return counted(found)
}

/** What the attempts of failed generations had stored is swept away within minutes; looks at the latest ones. */
export async function failedLeaveNothing(looked: Pictures): Promise<Violations> {
  const rows = await looked.db.rows<{ slug: string }>(
    `SELECT unnest(slugs) AS slug FROM (
       SELECT slugs FROM generations WHERE status = 'failed' AND started_at IS NOT NULL
          AND finished_at < now() - make_interval(secs => $1)
        ORDER BY finished_at DESC LIMIT $2) g`,
    [UNRECORDED_FOR_MS / 1000, looked.sample ?? null],
  )
  return counted(await suspects(looked, rows, ({ slug }) => looked.pictures.exists(slug)))
}

/** Every file belongs to an image's row, or to a generation that may still get one. As slow as the files are many. */
export async function filesRecorded({ db, pictures, signal }: Pictures): Promise<Violations> {
  const strangers: string[] = []
  for await (const slugs of pictures.all()) {
    signal.throwIfAborted()
    for (const slug of await unrecorded(db, slugs)) {
      const changedAt = await pictures.changedAt(slug)
      if (changedAt && Date.now() - changedAt.getTime() > UNRECORDED_FOR_MS) strangers.push(slug)
    }
  }
  if (strangers.length === 0) return counted([])
  const coming = await db.rows<{ slug: string }>(`SELECT unnest(slugs) AS slug FROM generations WHERE ${NOT_ENDED}`)
  const awaited = new Set(coming.map(({ slug }) => slug))
  // Whose generation ended after its files were looked at has a row by now.
  return counted(
    await unrecorded(
      db,
      strangers.filter((slug) => !awaited.has(slug)),
    ),
  )
}

async function unrecorded(db: AuditDatabase, slugs: readonly string[]): Promise<string[]> {
  const rows = await db.rows<{ slug: string }>(
    `SELECT slug FROM unnest($1::text[]) AS f (slug) WHERE NOT EXISTS (SELECT FROM images i WHERE i.slug = f.slug)`,
    [slugs],
  )
  return rows.map(({ slug }) => slug)
}

async function* imageRows({ db, sample }: Pictures, which: string): AsyncGenerator<ImageRow[]> {
  const columns = 'slug, width, height, sha256'
  if (sample !== undefined) {
    // Slugs are random, so those that come after one drawn here are, too; no need to read all of them.
    const page = (side: string) =>
      `(SELECT ${columns} FROM images WHERE ${which} AND slug ${side} $1 ORDER BY slug LIMIT $2)`
    yield await db.rows<ImageRow>(`${page('>=')} UNION ALL ${page('<')} LIMIT $2`, [newSlug(), sample])
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

async function suspects<Row extends { readonly slug: string }>(
  { signal }: Pictures,
  rows: readonly Row[],
  isWrong: (row: Row) => Promise<boolean>,
): Promise<string[]> {
  const waiting = [...rows]
  const found: string[] = []
  const look = async () => {
    for (let row = waiting.pop(); row; row = waiting.pop()) {
      signal.throwIfAborted()
      if (await isWrong(row)) found.push(row.slug)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, look))
  return found
}
