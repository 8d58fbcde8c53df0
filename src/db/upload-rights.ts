import { and, arrayContains, eq, isNull } from 'drizzle-orm'
import type { UploadRights } from '../generation/run/upload-rights.js'
import type { Database } from './client.js'
import { generations as g, images as i } from './schema.js'

export const uploadRights = ({ orm }: Database): UploadRights => ({
  async mayStore({ id, attempt }, slug) {
    const running = and(eq(g.id, id), eq(g.attempt, attempt), eq(g.status, 'processing'))
    const found = await orm
      .select({ id: g.id })
      .from(g)
      .where(and(running, arrayContains(g.slugs, [slug])))
    return found.length > 0
  },

  async isPublished(slug) {
    const found = await orm
      .select({ slug: i.slug })
      .from(i)
      .where(and(eq(i.slug, slug), isNull(i.removedAt)))
    return found.length > 0
  },
})
