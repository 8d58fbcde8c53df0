import { sql } from 'drizzle-orm'
import type { PublishedImages } from '../../core/images/ports.js'
import type { Database } from '../client.js'
import { liveFirst, type Tables } from '../months.js'
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

export const publishedImages = ({ pool }: Database): PublishedImages => ({
  find: async (slug) => (await FIND(pool, [{ slug }]))[0],
})
