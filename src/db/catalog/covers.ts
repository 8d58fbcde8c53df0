import { eq, sql } from 'drizzle-orm'
import type { CoverStore } from '../../core/catalog/cover.js'
import type { Database } from '../client.js'
import { modelCovers as c } from '../schema/catalog.js'
import { columns } from '../statement.js'

export function coverStore({ orm }: Database): CoverStore {
  const read = orm
    .select(columns(c, 'webp'))
    .from(c)
    .where(eq(c.name, sql.placeholder('name')))
    .prepare('read_cover')
  return { read: async (name) => (await read.execute({ name }))[0]?.webp }
}
