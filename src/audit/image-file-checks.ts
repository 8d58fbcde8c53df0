/** The files of images: every one that has a row is there and whole, and there are no others. */
import { webcrypto } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { gte, lt, type SQL, sql } from 'drizzle-orm'
import { generations as g, images as i } from '../db/schema.js'
import { named, pick, type RowOf } from '../db/statement.js'
import { newSlug } from '../generation/generation.js'
import type { AuditDatabase } from './audit-database.js'
import { counted, type Violations } from './check.js'

export interface StoredImages {
  /** Undefined: there is no such file. */
  read(slug: string): Promise<Buffer | undefined>
  exists(slug: string): Promise<boolean>
  /** The slugs of all files, in pages. */
  all(): AsyncIterable<readonly string[]>
  /** Undefined: there is no such file any more. */
  changedAt(slug: string): Promise<Date | undefined>
}

/** How many images to check, drawn at random; undefined: all. */
export type Sample = number | undefined

interface Looked {
  readonly db: AuditDatabase
  readonly files: StoredImages
  readonly sample: Sample
  /** Aborts between two files: they may be many and slow. */
  readonly signal: AbortSignal
}

const PAGE = 500
/** Files read at a time. */
const AT_ONCE = 4
/** An image is stored before its row; after this long the row should be there. */
const UNRECORDED_FOR_MS = 600_000

const IMAGE = pick(i, 'slug', 'width', 'height', 'sha256')
type ImageRow = RowOf<typeof IMAGE>
const STORED = sql`${i.removedAt} IS NULL`
const REMOVED = sql`${i.removedAt} IS NOT NULL`

/** Every image is there, byte for byte, and a PNG of the size its row names. */
export async function imagesStored(looked: Looked): Promise<Violations> {
  const { db, files } = looked
  const isWrong = async ({ slug, width, height, sha256 }: ImageRow) => {
    const bytes = await files.read(slug)
    if (!bytes || (await hashOf(bytes)) !== sha256) return true
    const size = pngSize(bytes)
    return size?.width !== width || size.height !== height
  }
  const found = await wrongImages(looked, STORED, isWrong)
  // Some may have been removed meanwhile.
  const still = await db.rows<{ slug: string }>(
    sql`SELECT ${i.slug} FROM ${i} WHERE ${i.slug} = ANY (${sql.param(found)}) AND ${STORED}`,
  )
  return counted(still.map(({ slug }) => slug))
}

/** Off the main thread, which may serve requests. */
const hashOf = async (bytes: Buffer) => Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')

/** Images that were taken down have no file any more. */
export const removedImagesGone = async (looked: Looked): Promise<Violations> =>
  counted(await wrongImages(looked, REMOVED, ({ slug }) => looked.files.exists(slug)))

/** Files of failed generations are removed within minutes; checks the latest ones. */
export async function failedLeaveNothing(looked: Looked): Promise<Violations> {
  const rows = await looked.db.rows<{ slug: string }>(
    sql`
      SELECT unnest(slugs) AS slug FROM (
        SELECT ${g.slugs} FROM ${g} WHERE ${g.status} = 'failed' AND ${g.startedAt} IS NOT NULL
           AND ${g.finishedAt} < now() - make_interval(secs => ${UNRECORDED_FOR_MS / 1000})
         ORDER BY ${g.finishedAt} DESC LIMIT ${looked.sample ?? null}) g`,
  )
  return counted(await suspects(looked, rows, ({ slug }) => looked.files.exists(slug)))
}

/** Every file belongs to an image's row, or to a generation that may still get one. Slow with many files. */
export async function filesRecorded({ db, files, signal }: Looked): Promise<Violations> {
  const strangers: string[] = []
  for await (const slugs of files.all()) {
    signal.throwIfAborted()
    for (const slug of await unrecorded(db, slugs)) {
      const changedAt = await files.changedAt(slug)
      if (changedAt && Date.now() - changedAt.getTime() > UNRECORDED_FOR_MS) strangers.push(slug)
    }
  }
  if (strangers.length === 0) return counted([])
  const coming = await db.rows<{ slug: string }>(
    sql`SELECT unnest(${g.slugs}) AS slug FROM ${g} WHERE ${g.finishedAt} IS NULL`,
  )
  const awaited = new Set(coming.map(({ slug }) => slug))
  // A generation that ended after its file was found has rows by now.
  const unexpected = strangers.filter((slug) => !awaited.has(slug))
  return counted(await unrecorded(db, unexpected))
}

async function unrecorded(db: AuditDatabase, slugs: readonly string[]): Promise<string[]> {
  const rows = await db.rows<{ slug: string }>(
    sql`SELECT slug FROM unnest(${sql.param(slugs)}::text[]) AS f (slug)
         WHERE NOT EXISTS (SELECT FROM ${i} WHERE ${i.slug} = f.slug)`,
  )
  return rows.map(({ slug }) => slug)
}

async function wrongImages(
  looked: Looked,
  which: SQL,
  isWrong: (row: ImageRow) => Promise<boolean>,
): Promise<string[]> {
  const found: string[] = []
  for await (const rows of imageRows(looked, which)) found.push(...(await suspects(looked, rows, isWrong)))
  return found
}

async function* imageRows({ db, sample }: Looked, which: SQL): AsyncGenerator<ImageRow[]> {
  const columns = named(IMAGE)
  if (sample !== undefined) {
    // Slugs are random, and so are those that follow one drawn here: not all need to be read.
    const drawn = newSlug()
    const page = (side: SQL) =>
      sql`(SELECT ${columns} FROM ${i} WHERE ${which} AND ${side} ORDER BY ${i.slug} LIMIT ${sample})`
    yield await db.rows<ImageRow>(sql`${page(gte(i.slug, drawn))} UNION ALL ${page(lt(i.slug, drawn))} LIMIT ${sample}`)
    return
  }
  for (let after = ''; ; ) {
    const rows = await db.rows<ImageRow>(
      sql`SELECT ${columns} FROM ${i} WHERE ${which} AND ${i.slug} > ${after}
           ORDER BY ${i.slug} LIMIT ${PAGE}`,
    )
    const last = rows.at(-1)
    if (!last) return
    after = last.slug
    yield rows
  }
}

async function suspects<Row extends { readonly slug: string }>(
  { signal }: Looked,
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

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Length, type and checksum around a chunk's data. */
const OVERHEAD = 12

/** The pixels of a whole PNG; undefined unless every chunk from IHDR to IEND is there with its checksum, and no more. */
export function pngSize(png: Buffer): { readonly width: number; readonly height: number } | undefined {
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return undefined
  let size: { width: number; height: number } | undefined
  for (let at = SIGNATURE.length; at + OVERHEAD <= png.length; ) {
    const end = at + OVERHEAD + png.readUInt32BE(at)
    if (end > png.length || crc32(png.subarray(at + 4, end - 4)) !== png.readUInt32BE(end - 4)) return undefined
    const type = png.toString('latin1', at + 4, at + 8)
    if (!size) {
      if (type !== 'IHDR' || end - at !== OVERHEAD + 13) return undefined
      size = { width: png.readUInt32BE(at + 8), height: png.readUInt32BE(at + 12) }
    }
    if (type === 'IEND') return end === png.length ? size : undefined
    at = end
  }
  return undefined
}
