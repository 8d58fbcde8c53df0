/** All images there are, to move their files or to compare them with the image store. */
import { and, asc, gt, isNull, sql } from 'drizzle-orm'
import type { MovingImage } from '../../core/images/move-images.js'
import type { ImageInventory } from '../../core/images/reconcile-images.js'
import type { ArchiveContent } from '../archive-content.js'
import type { Database } from '../client.js'
import { archived as a } from '../schema/archive.js'
import { generations as g } from '../schema/generations.js'
import { allImages as i, imageMoves, takedowns } from '../schema/images.js'
import { columns, queryOnce } from '../statement.js'

/** Listed at a time. */
const IMAGES_PER_PAGE = 1000

/** Pages in the order of slugs, until there are no more rows. @param read what comes after a slug */
async function* pagesOf<Row extends { readonly slug: string }>(read: (after: string) => Promise<Row[]>) {
  for (let page = await read(''); page.length > 0; page = await read((page.at(-1) as Row).slug)) yield page
}

/** More than clocks differ. */
const CLOCKS_MS = 3_600_000

/**
 * Also those that are archived. The archive first, since something may be brought back meanwhile, and at the end what has been
 * archived meanwhile: some images come twice, and none is missed.
 */
async function* alsoArchived<Image>(
  { archive }: Database,
  imagesOf: (images: ArchiveContent['images']) => Image[],
  inTables: AsyncIterable<Image[]>,
) {
  const began = new Date(Date.now() - CLOCKS_MS)
  for await (const { images } of archive?.contents() ?? []) yield imagesOf(images)
  yield* inTables
  for await (const { images } of archive?.contents({ since: began }) ?? []) yield imagesOf(images)
}

/** All images that were not removed. */
export const imageList = (db: Database) => ({
  /** Without those that are archived, which nobody counts. */
  count: () => db.orm.$count(i, isNull(i.removedAt)),

  pages: (): AsyncGenerator<MovingImage[]> =>
    alsoArchived(
      db,
      (images) =>
        images
          .filter((it) => it.removed_at === null)
          .map((it) => ({ slug: it.slug, sha256: it.sha256, hasThumbnail: it.has_thumbnail })),
      pagesOf((after) =>
        db.orm
          .select(columns(i, 'slug', 'sha256', 'hasThumbnail'))
          .from(i)
          .where(and(gt(i.slug, after), isNull(i.removedAt)))
          .orderBy(asc(i.slug))
          .limit(IMAGES_PER_PAGE),
      ),
    ),
})

export const imageInventory = (db: Database): ImageInventory => ({
  pages: () =>
    alsoArchived(
      db,
      (images) => images.map((it) => ({ slug: it.slug, isPrivate: it.private, removed: it.removed_at !== null })),
      pagesOf((after) =>
        db.orm
          .select({ ...columns(i, 'slug', 'isPrivate'), removed: sql<boolean>`${i.removedAt} IS NOT NULL` })
          .from(i)
          .where(gt(i.slug, after))
          .orderBy(asc(i.slug))
          .limit(IMAGES_PER_PAGE),
      ),
    ),

  async unknownAmong(slugs) {
    // In one statement: a generation that ends meanwhile still has its slugs, or already its images.
    const unknown = await queryOnce<{ slug: string }>(
      db.pool,
      sql`SELECT slug FROM unnest(${sql.param(slugs)}::text[]) AS f (slug)
           WHERE NOT EXISTS (SELECT FROM ${i} WHERE ${i.slug} = f.slug)
             AND NOT EXISTS (SELECT FROM ${a} WHERE ${a.name} = f.slug)
          EXCEPT SELECT unnest(${g.slugs}) FROM ${g} WHERE ${g.finishedAt} IS NULL`,
    )
    return unknown.map(({ slug }) => slug)
  },

  // What servers then work on must be in the tables.
  async takeDownAgain(slug) {
    await db.archive?.bringBack([slug])
    await db.orm.insert(takedowns).values({ slug }).onConflictDoNothing()
  },

  async moveAgain(slug) {
    await db.archive?.bringBack([slug])
    // A server that moves them now may be past this step: it then looks again.
    const changes = sql`${imageMoves.changes} + 1`
    await db.orm.insert(imageMoves).values({ slug }).onConflictDoUpdate({ target: imageMoves.slug, set: { changes } })
  },
})
