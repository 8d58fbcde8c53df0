/** All images there are, to move their files or to compare them with the image store. */
import { and, asc, gt, isNull, sql } from 'drizzle-orm'
import type { MovingImage } from '../../core/images/move-images.js'
import type { ImageInventory } from '../../core/images/reconcile-images.js'
import type { Database } from '../client.js'
import { generations as g } from '../schema/generations.js'
import { allImages as i, imageMoves, takedowns } from '../schema/images.js'
import { columns, queryOnce } from '../statement.js'

/** Listed at a time. */
const IMAGES_PER_PAGE = 1000

/** Pages in the order of slugs, until there are no more rows. @param read what comes after a slug */
async function* pagesOf<Row extends { readonly slug: string }>(read: (after: string) => Promise<Row[]>) {
  for (let page = await read(''); page.length > 0; page = await read((page.at(-1) as Row).slug)) yield page
}

/** All images that were not removed. */
export const imageList = ({ orm }: Database) => ({
  count: () => orm.$count(i, isNull(i.removedAt)),

  pages: (): AsyncGenerator<MovingImage[]> =>
    pagesOf((after) =>
      orm
        .select(columns(i, 'slug', 'sha256', 'hasThumbnail'))
        .from(i)
        .where(and(gt(i.slug, after), isNull(i.removedAt)))
        .orderBy(asc(i.slug))
        .limit(IMAGES_PER_PAGE),
    ),
})

export const imageInventory = ({ orm, pool }: Database): ImageInventory => ({
  pages: () =>
    pagesOf((after) =>
      orm
        .select({ ...columns(i, 'slug', 'isPrivate'), removed: sql<boolean>`${i.removedAt} IS NOT NULL` })
        .from(i)
        .where(gt(i.slug, after))
        .orderBy(asc(i.slug))
        .limit(IMAGES_PER_PAGE),
    ),

  async unknownAmong(slugs) {
    // In one statement: a generation that ends meanwhile still has its slugs, or already its images.
    const unknown = await queryOnce<{ slug: string }>(
      pool,
      sql`SELECT slug FROM unnest(${sql.param(slugs)}::text[]) AS f (slug)
           WHERE NOT EXISTS (SELECT FROM ${i} WHERE ${i.slug} = f.slug)
          EXCEPT SELECT unnest(${g.slugs}) FROM ${g} WHERE ${g.finishedAt} IS NULL`,
    )
    return unknown.map(({ slug }) => slug)
  },

  async takeDownAgain(slug) {
    await orm.insert(takedowns).values({ slug }).onConflictDoNothing()
  },

  async moveAgain(slug) {
    // A server that moves them now may be past this step: it then looks again.
    const changes = sql`${imageMoves.changes} + 1`
    await orm.insert(imageMoves).values({ slug }).onConflictDoUpdate({ target: imageMoves.slug, set: { changes } })
  },
})
