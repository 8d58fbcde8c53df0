import { eq, sql } from 'drizzle-orm'
import type { ModelStore } from '../catalog/model-version.js'
import type { Database } from './client.js'
import { modelVersions } from './schema.js'

/** The contract's order: by lower(model_name) in byte order, then lower(name), then id. */
export const catalogOrder = [
  sql`lower(${modelVersions.modelName}) COLLATE "C"`,
  sql`lower(${modelVersions.name}) COLLATE "C"`,
  modelVersions.id,
]

export const modelStore = ({ orm }: Database): ModelStore => ({
  async find(id) {
    // An id that no bigint column can hold is not in the catalog either.
    if (!Number.isSafeInteger(id)) return undefined
    return (await orm.select().from(modelVersions).where(eq(modelVersions.id, id)))[0]
  },

  async findByCreateImageModel(model) {
    return (await orm.select().from(modelVersions).where(eq(modelVersions.createImageModel, model)))[0]
  },

  listEnabled: () =>
    orm
      .select()
      .from(modelVersions)
      .where(eq(modelVersions.enabled, true))
      .orderBy(...catalogOrder),
})
