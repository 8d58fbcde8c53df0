import { and, eq, exists, gte, inArray, isNotNull, isNull, notInArray, or, sql } from 'drizzle-orm'
import { batched } from '../batch.js'
import type { ModelStore, ModelVersion } from '../catalog/model-version.js'
import { type Database, withTransaction } from './client.js'
import { backends } from './process-schema.js'
import { modelVersions } from './schema.js'

/** The contract's order: by lower(model_name) in byte order, then lower(name), then id. */
const catalogOrder = [
  sql`lower(${modelVersions.modelName}) COLLATE "C"`,
  sql`lower(${modelVersions.name}) COLLATE "C"`,
  modelVersions.id,
]

export const modelStore = ({ orm }: Database): ModelStore => {
  const select = () => orm.select().from(modelVersions)
  const findAll = select()
    .where(eq(modelVersions.id, sql`ANY (${sql.placeholder('ids')})`))
    .prepare('find_models')
  const find = batched(async (ids: readonly number[]) => {
    const found = new Map((await findAll.execute({ ids })).map((model) => [model.id, model]))
    return ids.map((id) => found.get(id))
  })
  const findByCreateImageModel = select()
    .where(eq(modelVersions.createImageModel, sql.placeholder('model')))
    .prepare('find_create_image_model')
  const listEnabled = select()
    .where(eq(modelVersions.enabled, true))
    .orderBy(...catalogOrder)
    .prepare('list_enabled_models')
  return {
    async find(id) {
      // Postgres would refuse an id that is no bigint.
      return Number.isSafeInteger(id) ? find(id) : undefined
    },

    findByCreateImageModel: async (model) => (await findByCreateImageModel.execute({ model }))[0],

    listEnabled: () => listEnabled.execute(),
  }
}

/** One version of an import. What is absent keeps its value, or gets the default in a new version. */
export type ImportedModel = typeof modelVersions.$inferInsert

type ImportOutcome =
  | { readonly outcome: 'imported' }
  /** The Create Image model is served by a version that is not in the import. */
  | { readonly outcome: 'taken'; readonly createImageModel: string; readonly by: number }

export const operatorModelStore = (db: Database) => {
  const { orm } = db
  return {
    /** All or nothing. Frees the Create Image models of the import first, so that versions can swap them. */
    import: (models: readonly ImportedModel[]): Promise<ImportOutcome> =>
      withTransaction(db, async (tx) => {
        const assigning = models.filter(({ createImageModel }) => createImageModel !== undefined)
        const assigned = assigning.flatMap(({ createImageModel }) => createImageModel ?? [])
        const ids = assigning.map(({ id }) => id)
        const [taken] = await tx
          .select({ by: modelVersions.id, createImageModel: modelVersions.createImageModel })
          .from(modelVersions)
          .where(and(inArray(modelVersions.createImageModel, assigned), notInArray(modelVersions.id, ids)))
          .limit(1)
        if (taken) return { outcome: 'taken', by: taken.by, createImageModel: taken.createImageModel ?? '' }
        await tx
          .update(modelVersions)
          .set({ createImageModel: null })
          .where(and(inArray(modelVersions.id, ids), isNotNull(modelVersions.createImageModel)))
        for (const model of models) {
          await tx.insert(modelVersions).values(model).onConflictDoUpdate({ target: modelVersions.id, set: model })
        }
        return { outcome: 'imported' }
      }),

    /** Disabled ones too, in the catalog's order. */
    list: (): Promise<ModelVersion[]> =>
      orm
        .select()
        .from(modelVersions)
        .orderBy(...catalogOrder),

    /** Enabled ones that a backend has which was up within so many ms. A backend that lists no models has all. */
    async listServedIds(withinMs: number): Promise<number[]> {
      const seen = gte(backends.seenAt, sql`now() - ${withinMs} * interval '1 ms'`)
      const has = or(isNull(backends.models), sql`${modelVersions.filename} = ANY (${backends.models})`)
      const serving = orm
        .select({ worker: backends.worker })
        .from(backends)
        .where(and(backends.up, seen, has))
      const served = orm.select({ id: modelVersions.id }).from(modelVersions)
      return (await served.where(and(modelVersions.enabled, exists(serving)))).map(({ id }) => id)
    },

    /** False if there is no such version. */
    async setEnabled(id: number, enabled: boolean): Promise<boolean> {
      const { rowCount } = await orm.update(modelVersions).set({ enabled }).where(eq(modelVersions.id, id))
      return rowCount === 1
    },
  }
}
