/** The checks of image files: each image's file exists and is intact, and there are no other files. */
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

/** How many images to check, at random; undefined: all. */
export type Sample = number | undefined

interface FileAudit {
  readonly db: AuditDatabase
  readonly files: StoredImages
  readonly sample: Sample
  /** Checked between two files, which may be many and slow. */
  readonly signal: AbortSignal
}

const PAGE = 500
/** Files read at a time. */
const CONCURRENT_READS = 4
/** A file is stored before its row; after this long the row should exist. */
const UNRECORDED_FOR_MS = 600_000

const IMAGE = pick(i, 'slug', 'width', 'height', 'sha256')
type ImageRow = RowOf<typeof IMAGE>
const STORED = sql`${i.removedAt} IS NULL`
const REMOVED = sql`${i.removedAt} IS NOT NULL`

/** Every image's file exists, has the recorded hash, and is a PNG of the recorded size. */
export async function imagesStored(audit: FileAudit): Promise<Violations> {
  const { db, files } = audit
  const isWrong = async ({ slug, width, height, sha256 }: ImageRow) => {
    const bytes = await files.read(slug)
    if (!bytes || (await hashOf(bytes)) !== sha256) return true
    const size = pngSize(bytes)
    return size?.width !== width || size.height !== height
  }
  const found = await wrongImages(audit, STORED, isWrong)
  // Some may have been removed meanwhile.
  const still = await db.rows<{ slug: string }>(
    sql`SELECT ${i.slug} FROM ${i} WHERE ${i.slug} = ANY (${sql.param(found)}) AND ${STORED}`,
  )
  return counted(still.map(({ slug }) => slug))
}

/** Off the main thread, which may serve requests. */
const hashOf = async (bytes: Buffer) => Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')

/** Removed images have no file. */
export const removedImagesGone = async (audit: FileAudit): Promise<Violations> =>
  counted(await wrongImages(audit, REMOVED, ({ slug }) => audit.files.exists(slug)))

/** Files of failed generations are removed within minutes; checks the latest ones. */
export async function failedLeaveNothing(audit: FileAudit): Promise<Violations> {
  const rows = await audit.db.rows<{ slug: string }>(
    sql`
      SELECT unnest(slugs) AS slug FROM (
        SELECT ${g.slugs} FROM ${g} WHERE ${g.status} = 'failed' AND ${g.startedAt} IS NOT NULL
           AND ${g.finishedAt} < now() - make_interval(secs => ${UNRECORDED_FOR_MS / 1000})
         ORDER BY ${g.finishedAt} DESC LIMIT ${audit.sample ?? null}) g`,
  )
  return counted(await selectWrong(audit, rows, ({ slug }) => audit.files.exists(slug)))
}

/** Every file belongs to an image's row, or to a generation that may still get one. Slow with many files. */
export async function filesRecorded({ db, files, signal }: FileAudit): Promise<Violations> {
  const unknownFiles: string[] = []
  for await (const slugs of files.all()) {
    signal.throwIfAborted()
    for (const slug of await unrecorded(db, slugs)) {
      const changedAt = await files.changedAt(slug)
      if (changedAt && Date.now() - changedAt.getTime() > UNRECORDED_FOR_MS) unknownFiles.push(slug)
    }
  }
  if (unknownFiles.length === 0) return counted([])
  const active = await db.rows<{ slug: string }>(
    sql`SELECT unnest(${g.slugs}) AS slug FROM ${g} WHERE ${g.finishedAt} IS NULL`,
  )
  const expected = new Set(active.map(({ slug }) => slug))
  // A generation that has ended since its file was found has its rows by now.
  const unexpected = unknownFiles.filter((slug) => !expected.has(slug))
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
  audit: FileAudit,
  which: SQL,
  isWrong: (row: ImageRow) => Promise<boolean>,
): Promise<string[]> {
  const found: string[] = []
  for await (const rows of imageRows(audit, which)) found.push(...(await selectWrong(audit, rows, isWrong)))
  return found
}

async function* imageRows({ db, sample }: FileAudit, which: SQL): AsyncGenerator<ImageRow[]> {
  const columns = named(IMAGE)
  if (sample !== undefined) {
    // Slugs are random, so those that follow a random one are a sample; not all rows need to be read.
    const start = newSlug()
    const page = (side: SQL) =>
      sql`(SELECT ${columns} FROM ${i} WHERE ${which} AND ${side} ORDER BY ${i.slug} LIMIT ${sample})`
    yield await db.rows<ImageRow>(sql`${page(gte(i.slug, start))} UNION ALL ${page(lt(i.slug, start))} LIMIT ${sample}`)
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

async function selectWrong<Row extends { readonly slug: string }>(
  { signal }: FileAudit,
  rows: readonly Row[],
  isWrong: (row: Row) => Promise<boolean>,
): Promise<string[]> {
  const waiting = [...rows]
  const found: string[] = []
  const checkNext = async () => {
    for (let row = waiting.pop(); row; row = waiting.pop()) {
      signal.throwIfAborted()
      if (await isWrong(row)) found.push(row.slug)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_READS }, checkNext))
  return found
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Length, type and checksum around a chunk's data. */
const OVERHEAD = 12

/** The size of an intact PNG; undefined unless it is exactly the chunks from IHDR to IEND, with their checksums. */
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
