import { asc, gt, sql } from 'drizzle-orm'
import type { ImageInventory } from '../../core/images/reconcile-images.js'
import type { Database } from '../client.js'
import { generations as g, images as i, takedowns } from '../schema/generations.js'
import { queryOnce } from '../statement.js'

/** Listed at a time. */
const IMAGES_PER_PAGE = 1000

export const imageInventory = ({ orm, pool }: Database): ImageInventory => ({
  async *pages() {
    for (let after = ''; ; ) {
      const page = await orm
        .select({ slug: i.slug, removed: sql<boolean>`${i.removedAt} IS NOT NULL` })
        .from(i)
        .where(gt(i.slug, after))
        .orderBy(asc(i.slug))
        .limit(IMAGES_PER_PAGE)
      const last = page.at(-1)
      if (!last) return
      yield page
      after = last.slug
    }
  },

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
})
