import { eq, sql } from 'drizzle-orm'
import type { PublishedImages } from '../../core/images/ports.js'
import type { Database } from '../client.js'
import { generations as g } from '../schema/generations.js'
import { images as i } from '../schema/images.js'
import { columns } from '../statement.js'

export const publishedImages = ({ orm }: Database): PublishedImages => {
  const find = orm
    .select({
      ...columns(i, 'slug', 'width', 'height', 'seed', 'createdAt', 'hasThumbnail', 'isPrivate', 'linkRevocations'),
      removed: sql<boolean>`${i.removedAt} IS NOT NULL`,
      modelName: g.modelName,
      ownerId: g.userId,
    })
    .from(i)
    .innerJoin(g, eq(g.id, i.generationId))
    .where(eq(i.slug, sql.placeholder('slug')))
    .prepare('find_published_image')
  return { find: async (slug) => (await find.execute({ slug }))[0] }
}
