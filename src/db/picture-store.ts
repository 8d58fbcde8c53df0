import { eq } from 'drizzle-orm'
import type { PictureStore } from '../generation/library/picture.js'
import type { Database } from './client.js'
import { generations, images } from './schema.js'

export const pictureStore = ({ orm }: Database): PictureStore => ({
  async find(slug) {
    const [row] = await orm
      .select({
        slug: images.slug,
        modelName: generations.modelName,
        width: images.width,
        height: images.height,
        seed: images.seed,
        createdAt: images.createdAt,
        removedAt: images.removedAt,
      })
      .from(images)
      .innerJoin(generations, eq(generations.id, images.generationId))
      .where(eq(images.slug, slug))
    if (!row) return undefined
    const { removedAt, ...picture } = row
    return { ...picture, removed: removedAt !== null }
  },
})
