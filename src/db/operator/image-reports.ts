import { and, desc, eq, inArray, isNull, lte, sql } from 'drizzle-orm'
import type { ImageReportLog, ReportedImage } from '../../core/operator/image-reports.js'
import { pageOf } from '../../lib/page.js'
import type { Database } from '../client.js'
import { users as u } from '../schema/accounts.js'
import { allGenerations as g } from '../schema/generations.js'
import { allImages as i, imageReports as r } from '../schema/images.js'
import { columns, statement } from '../statement.js'

const NEWEST = sql<number>`max(${r.id})`.mapWith(Number)
const IS_OPEN = and(isNull(r.dismissedAt), isNull(i.removedAt))

// Image by image: few are reported, and a join might read all of them.
const COUNT_IMAGES = statement<{ count: number }>('count_reported_images')`
  SELECT count(*) AS count FROM (SELECT DISTINCT ${r.slug} FROM ${r} WHERE ${r.dismissedAt} IS NULL) reported
   WHERE (SELECT ${i.removedAt} IS NULL FROM ${i} WHERE ${i.slug} = reported.slug)`

export const imageReportLog = ({ orm, pool }: Database): ImageReportLog => ({
  async list({ limit, after: [before] = [] }) {
    const images = await orm
      .select({
        ...columns(i, 'slug', 'generationId', 'hasThumbnail'),
        username: u.username,
        newest: NEWEST,
      })
      .from(r)
      .innerJoin(i, eq(i.slug, r.slug))
      .innerJoin(g, eq(g.id, i.generationId))
      .innerJoin(u, eq(u.id, g.userId))
      .where(IS_OPEN)
      .groupBy(i.slug, i.generationId, i.hasThumbnail, u.username)
      .having(before === undefined ? undefined : sql`max(${r.id}) < ${before}`)
      .orderBy(desc(NEWEST))
      .limit(limit + 1)
    const slugs = images.slice(0, limit).map(({ slug }) => slug)
    const reports = await orm
      .select(columns(r, 'id', 'slug', 'at', 'reason', 'note', 'times'))
      .from(r)
      .where(and(inArray(r.slug, slugs), isNull(r.dismissedAt)))
      .orderBy(desc(r.id))
    const withReports = ({ newest: _, ...image }: (typeof images)[0]): ReportedImage => ({
      ...image,
      reports: reports.flatMap(({ slug, ...report }) => (slug === image.slug ? [report] : [])),
    })
    return pageOf(images, limit, withReports, ({ newest }) => [newest])
  },

  countImages: async () => (await COUNT_IMAGES.first(pool))?.count ?? 0,

  async dismiss(slug, upTo, by) {
    const { rowCount } = await orm
      .update(r)
      .set({ dismissedAt: sql`now()`, dismissedBy: by })
      .where(and(eq(r.slug, slug), isNull(r.dismissedAt), lte(r.id, upTo)))
    return rowCount ?? 0
  },
})
