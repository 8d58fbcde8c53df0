import { eq, sql } from 'drizzle-orm'
import type { RecentImage, RecentImages } from '../../core/operator/images.js'
import { pageOf } from '../../lib/page.js'
import { orBroughtBack } from '../brought-back.js'
import type { Database } from '../client.js'
import { inMonthOf } from '../months.js'
import type { ReadDatabase } from '../read-replica.js'
import { users as u } from '../schema/accounts.js'
import { allGenerations as g } from '../schema/generations.js'
import { allImages as i } from '../schema/images.js'
import { columns, queryOnce, selectAs } from '../statement.js'

interface NewestGeneration {
  readonly seq: number
  readonly username: string
  readonly generationId: string
  readonly images: readonly Pick<RecentImage, 'slug' | 'hasThumbnail'>[]
}

const NEWEST = selectAs({
  ...columns(g, 'seq'),
  generationId: g.id,
  // By itself: for a page of unknown size a join might read all accounts.
  username: sql`(SELECT ${u.username} FROM ${u} WHERE ${u.id} = ${g.userId})`,
  images: sql`coalesce((
    SELECT jsonb_agg(jsonb_build_object('slug', ${i.slug}, 'hasThumbnail', ${i.hasThumbnail}) ORDER BY ${i.idx})
      FROM ${i} WHERE ${i.generationId} = ${g.id} AND ${inMonthOf(i, g)} AND ${i.removedAt} IS NULL AND ${i.deleteAt} IS NULL), '[]')`,
})

export const recentImages = (db: Database, { pool }: ReadDatabase = db): RecentImages => ({
  generationOf: (slug) =>
    orBroughtBack(db, slug, async () => {
      const [image] = await db.orm.select(columns(i, 'generationId')).from(i).where(eq(i.slug, slug))
      return image?.generationId
    }),

  async list({ limit, after: [before] = [] }) {
    const earlier = before === undefined ? sql`` : sql`AND ${g.seq} < ${before}`
    // First the page: its end must not depend on what of it was removed.
    const rows = await queryOnce<NewestGeneration>(
      pool,
      sql`SELECT ${NEWEST}
            FROM (SELECT * FROM ${g} WHERE ${g.status} = 'succeeded' ${earlier}
                   ORDER BY ${g.seq} DESC LIMIT ${limit + 1}) ${g}
           ORDER BY ${g.seq} DESC`,
    )
    const { items, next } = pageOf(
      rows,
      limit,
      (row) => row,
      ({ seq }) => [seq],
    )
    const images = items.flatMap((it) =>
      it.images.map((image) => ({ ...image, generationId: it.generationId, username: it.username })),
    )
    return { items: images, next }
  },
})
