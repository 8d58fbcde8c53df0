/** The checks of image files: each image's file exists and is intact, and there are no other files. */
import { webcrypto } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { gte, lt, type SQL, sql } from 'drizzle-orm'
import { newSlug } from '../../core/generations/generation.js'
import { pngChunks } from '../../core/images/image-bytes.js'
import { isUnreadable } from '../../core/images/read-each.js'
import type { Archive } from '../archive.js'
import type { ArchiveContent } from '../archive-content.js'
import { archived as a } from '../schema/archive.js'
import { generations as g } from '../schema/generations.js'
import { allImages as i, imageMoves as m } from '../schema/images.js'
import { columns, type RowOf, selectAs } from '../statement.js'
import type { AuditDatabase } from './audit-database.js'
import { type Checks, counted, type Violations } from './check.js'

export interface StoredImages {
  /** Undefined: there is no such file. */
  read(slug: string): Promise<Buffer | undefined>
  readThumbnail(slug: string): Promise<Buffer | undefined>
  /** Of the image or its thumbnail. */
  exists(slug: string): Promise<boolean>
  /** The slugs of all files, in pages. */
  all(): AsyncIterable<readonly string[]>
  /** Undefined: there is no such file any more. */
  changedAt(slug: string): Promise<Date | undefined>
  /** Those that anybody may read. */
  readonly publicFiles: { exists(slug: string): Promise<boolean> }
}

interface FileAudit {
  readonly db: AuditDatabase
  readonly files: StoredImages
  /** How many images to check, at random; undefined: all. */
  readonly sample: number | undefined
  /** Undefined: none is looked at. */
  readonly archive: Archive | undefined
  /** Checked between two files, which may be many and slow. */
  readonly signal: AbortSignal
}

const IMAGES_PER_PAGE = 500
/** Each has many generations. */
const ARCHIVE_SAMPLE = 10
/** Files read at a time. */
const CONCURRENT_READS = 4
/** A file is stored before its row; after this long the row should exist. */
const UNRECORDED_FOR_MS = 600_000

/** Files in a row that could not be looked at: more, and it is the whole store. */
const FAILED_IN_A_ROW = 20

const IMAGE = columns(i, 'slug', 'width', 'height', 'sha256', 'hasThumbnail')
type ImageRow = RowOf<typeof IMAGE>
/** Which images, as a condition, and as one of those that are archived. */
interface Which {
  readonly inTables: SQL
  readonly inArchive: (image: ArchivedImage) => boolean
}
type ArchivedImage = ArchiveContent['images'][number]

const STORED: Which = { inTables: sql`${i.removedAt} IS NULL`, inArchive: (it) => it.removed_at === null }
const REMOVED: Which = { inTables: sql`${i.removedAt} IS NOT NULL`, inArchive: (it) => it.removed_at !== null }
/** Without those whose files are still on their way. */
const PRIVATE: Which = {
  inTables: sql`${i.isPrivate} AND ${i.removedAt} IS NULL AND NOT EXISTS (SELECT FROM ${m} WHERE ${m.slug} = ${i.slug})`,
  inArchive: (it) => it.private && it.removed_at === null,
}

/** Where all images are checked, so are files that belong to none. */
export const imageFileChecks = (audit: FileAudit): Checks => ({
  'images-are-stored-intact': () => imagesStored(audit),
  'removed-images-have-no-file': () => removedImagesGone(audit),
  'private-images-have-no-public-file': () => privateImagesHidden(audit),
  'failed-jobs-leave-no-file': () => failedLeaveNothing(audit),
  'archived-generations-can-be-read': async () =>
    counted((await audit.archive?.damaged(audit.sample && ARCHIVE_SAMPLE)) ?? []),
  ...(audit.sample === undefined && { 'files-belong-to-images': () => filesRecorded(audit) }),
})

/** Every image's file exists, has the recorded hash, and is a PNG of the recorded size; its thumbnail is a WebP. */
async function imagesStored(audit: FileAudit): Promise<Violations> {
  const isBroken = async ({ slug, width, height, sha256, hasThumbnail }: ImageRow) => {
    const bytes = await audit.files.read(slug)
    if (!bytes || (await hashOf(bytes)) !== sha256) return true
    const size = pngSize(bytes)
    if (size?.width !== width || size.height !== height) return true
    return hasThumbnail && !isWebp(await audit.files.readThumbnail(slug))
  }
  return stillWrong(audit, STORED, isBroken)
}

/** Off the main thread, which may serve requests. */
const hashOf = async (bytes: Buffer) => Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')

const removedImagesGone = (audit: FileAudit): Promise<Violations> =>
  selecting(audit, async (select) => {
    const isThere: IsWrong<ImageRow> = ({ slug }) => audit.files.exists(slug)
    // Twice: what could not be looked at for a moment is not there because of that.
    return counted(slugsOf(await select(await wrongImages(audit, REMOVED, select, isThere), isThere)))
  })

const privateImagesHidden = (audit: FileAudit): Promise<Violations> =>
  stillWrong(audit, PRIVATE, ({ slug }) => audit.files.publicFiles.exists(slug))

/** Files of failed generations are removed within minutes; checks the latest ones. */
async function failedLeaveNothing(audit: FileAudit): Promise<Violations> {
  const slugs = await audit.db.texts(sql`
    SELECT unnest(slugs) AS slug FROM (
      SELECT ${g.slugs} FROM ${g} WHERE ${g.status} = 'failed' AND ${g.startedAt} IS NOT NULL
         AND ${g.finishedAt} < now() - make_interval(secs => ${UNRECORDED_FOR_MS / 1000})
       ORDER BY ${g.finishedAt} DESC LIMIT ${audit.sample ?? null}) g`)
  const isThere: IsWrong<string> = (slug) => audit.files.exists(slug)
  return selecting(audit, async (select) => counted(await select(await select(slugs, isThere), isThere)))
}

/** Every file belongs to an image's row, or to a generation that may still get one. Slow with many files. */
async function filesRecorded({ db, files, signal }: FileAudit): Promise<Violations> {
  const unknownFiles: string[] = []
  for await (const slugs of files.all()) {
    signal.throwIfAborted()
    for (const slug of await db.texts(unrecorded(slugs))) {
      const changedAt = await files.changedAt(slug)
      if (changedAt && Date.now() - changedAt.getTime() > UNRECORDED_FOR_MS) unknownFiles.push(slug)
    }
  }
  // In one statement, so that a generation that ends meanwhile still has its slugs or already its images.
  const expected = sql`SELECT unnest(${g.slugs}) FROM ${g} WHERE ${g.finishedAt} IS NULL`
  return counted(await db.texts(sql`${unrecorded(unknownFiles)} EXCEPT ${expected}`))
}

const unrecorded = (slugs: readonly string[]): SQL =>
  sql`SELECT slug FROM unnest(${sql.param(slugs)}::text[]) AS f (slug)
       WHERE NOT EXISTS (SELECT FROM ${i} WHERE ${i.slug} = f.slug)
         AND NOT EXISTS (SELECT FROM ${a} WHERE ${a.name} = f.slug)`

type IsWrong<T> = (it: T) => Promise<boolean>

/** Some may have been removed or made public meanwhile. */
async function stillWrong(audit: FileAudit, which: Which, isWrong: IsWrong<ImageRow>): Promise<Violations> {
  // Twice: a file that came from one place to another between the looks into both was in neither.
  const wrong = await selecting(audit, async (select) =>
    select(await wrongImages(audit, which, select, isWrong), isWrong),
  )
  const found = sql.param(slugsOf(wrong))
  return counted(
    await audit.db.texts(sql`
      SELECT ${i.slug} FROM ${i} WHERE ${i.slug} = ANY (${found}) AND ${which.inTables}
       UNION SELECT ${a.name} FROM ${a} WHERE ${a.name} = ANY (${found})`),
  )
}

const slugsOf = (images: readonly ImageRow[]) => images.map(({ slug }) => slug)

async function wrongImages(audit: FileAudit, which: Which, select: Select, isWrong: IsWrong<ImageRow>) {
  const found: ImageRow[] = []
  for await (const rows of imageRows(audit, which)) found.push(...(await select(rows, isWrong)))
  return found
}

async function* imageRows({ db, sample, archive }: FileAudit, which: Which): AsyncGenerator<ImageRow[]> {
  const select = sql`SELECT ${selectAs(IMAGE)} FROM ${i} WHERE ${which.inTables}`
  if (sample !== undefined) {
    // Slugs are random, so those that follow a random one are a sample; not all rows need to be read.
    const start = newSlug()
    const page = (side: SQL) => sql`(${select} AND ${side} ORDER BY ${i.slug} LIMIT ${sample})`
    yield await db.rows<ImageRow>(sql`${page(gte(i.slug, start))} UNION ALL ${page(lt(i.slug, start))} LIMIT ${sample}`)
    return
  }
  for await (const { images } of archive?.contents({ skipDamaged: true }) ?? [])
    yield images.filter(which.inArchive).map(({ slug, width, height, sha256, has_thumbnail: hasThumbnail }) => ({
      slug,
      width,
      height,
      sha256,
      hasThumbnail,
    }))
  for (let after = ''; ; ) {
    const rows = await db.rows<ImageRow>(
      sql`${select} AND ${i.slug} > ${after} ORDER BY ${i.slug} LIMIT ${IMAGES_PER_PAGE}`,
    )
    const last = rows.at(-1)
    if (!last) return
    after = last.slug
    yield rows
  }
}

type Select = <T>(all: readonly T[], isWrong: IsWrong<T>) => Promise<T[]>

/** What cannot be looked at is wrong, too, and ends nothing; unless that is so of all that is looked at, or of many in a row. */
async function selecting<T>({ signal }: FileAudit, check: (select: Select) => Promise<T>): Promise<T> {
  let inARow = 0
  let fault: { readonly error: unknown } | undefined
  let hasLooked = false
  const select: Select = async (all, isWrong) => {
    const waiting = all.values()
    const found: (typeof all)[number][] = []
    const checkNext = async () => {
      for (const one of waiting) {
        signal.throwIfAborted()
        const isIt = await isWrong(one).catch((error) => {
          // What a closed connection or a full stop of the audit says is about no file.
          signal.throwIfAborted()
          if (isUnreadable(error)) return true
          fault = { error }
          if (++inARow >= FAILED_IN_A_ROW) throw error
          return undefined
        })
        if (isIt !== undefined) {
          inARow = 0
          hasLooked = true
        }
        if (isIt ?? true) found.push(one)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT_READS }, checkNext))
    return found
  }
  const result = await check(select)
  if (fault && !hasLooked) throw fault.error
  return result
}

/** A whole one, as its header says. */
const isWebp = (bytes: Buffer | undefined): boolean =>
  bytes !== undefined && bytes.toString('latin1', 8, 12) === 'WEBP' && bytes.readUInt32LE(4) === bytes.length - 8

/** The signature, and the length and type of the first chunk. */
const HEAD = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
/** The last chunk. */
const TAIL = Buffer.from('\0\0\0\0IEND\xaeB`\x82', 'latin1')

/** The size of an intact PNG; undefined unless it is exactly the chunks from IHDR to IEND, with their checksums. */
export function pngSize(png: Buffer): { readonly width: number; readonly height: number } | undefined {
  const chunks = [...pngChunks(png)]
  const isIntact =
    png.subarray(0, HEAD.length).equals(HEAD) &&
    png.subarray(-TAIL.length).equals(TAIL) &&
    chunks.findIndex(({ name }) => name === 'IEND') === chunks.length - 1 &&
    chunks.every(({ chunk }) => crc32(chunk.subarray(4, -4)) === chunk.readUInt32BE(chunk.length - 4))
  return isIntact ? { width: png.readUInt32BE(HEAD.length), height: png.readUInt32BE(HEAD.length + 4) } : undefined
}
