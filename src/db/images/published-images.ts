import { and, eq, isNull, sql } from 'drizzle-orm'
import type { PublishedImages } from '../../core/images/ports.js'
import type { ArchiveContent } from '../archive-content.js'
import type { Database } from '../client.js'
import { liveFirst, type Tables } from '../months.js'
import { images as i } from '../schema/images.js'
import { columns, type RowOf, selectAs } from '../statement.js'

const publishedImage = ({ g, i }: Tables) => ({
  ...columns(i, 'slug', 'width', 'height', 'seed', 'createdAt', 'hasThumbnail', 'isPrivate', 'linkRevocations'),
  removed: sql<boolean>`${i.removedAt} IS NOT NULL`,
  modelName: g.modelName,
  ownerId: g.userId,
})
type Row = RowOf<ReturnType<typeof publishedImage>>

const FIND = liveFirst<Row, 'slug'>('find_published_image', { slug: 'text' }, (tables) => {
  const { g, i } = tables
  return sql`SELECT ${selectAs(publishedImage(tables))} FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId} WHERE ${i.slug} = item.slug`
})

export const publishedImages = ({ pool, archive }: Database): PublishedImages => ({
  // Strangers, and programs that follow all links, bring nothing back from the archive.
  async find(slug) {
    const inTables = async () => (await FIND(pool, [{ slug }]))[0]
    const row = await inTables()
    if (row || !archive) return row
    const content = await archive.contentOf(slug)
    // Its owner may have brought it back at this moment.
    return content ? archivedImage(content, slug) : inTables()
  },
})

/** Slugs of public images, those that Postgres comes upon first. */
export const somePublished =
  ({ orm }: Database) =>
  async (limit: number): Promise<string[]> => {
    const isPublic = and(isNull(i.removedAt), eq(i.isPrivate, false))
    return (await orm.select({ slug: i.slug }).from(i).where(isPublic).limit(limit)).map(({ slug }) => slug)
  }

function archivedImage({ images, generations }: ArchiveContent, slug: string): Row {
  const image = images.find((it) => it.slug === slug) as (typeof images)[number]
  const generation = generations.find((it) => it.id === image.generation_id) as (typeof generations)[number]
  return {
    slug,
    width: image.width,
    height: image.height,
    seed: image.seed,
    createdAt: new Date(image.created_at),
    hasThumbnail: image.has_thumbnail,
    isPrivate: image.private,
    linkRevocations: image.link_revocations,
    removed: image.removed_at !== null,
    modelName: generation.model_name,
    ownerId: generation.user_id,
  }
}
