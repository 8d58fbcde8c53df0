/** Which worker may upload an image through the server. */
import { and, arrayContains, eq, notExists } from 'drizzle-orm'
import type { UploadRights } from '../../core/images/ports.js'
import type { Database } from '../client.js'
import { generations as g } from '../schema/generations.js'
import { images as i } from '../schema/images.js'

export const uploadRights = ({ orm }: Database): UploadRights => ({
  async mayStore({ id, attempt }, slug) {
    const running = and(eq(g.id, id), eq(g.attempt, attempt), eq(g.status, 'processing'))
    const published = orm.select({ slug: i.slug }).from(i).where(eq(i.slug, slug))
    const found = await orm
      .select({ id: g.id })
      .from(g)
      .where(and(running, arrayContains(g.slugs, [slug]), notExists(published)))
    return found.length > 0
  },
})
