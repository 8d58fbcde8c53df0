import { and, eq, inArray, isNotNull, notInArray } from 'drizzle-orm'
import type { ModelVersion } from '../catalog/model-version.js'
import { type Database, withTransaction } from './client.js'
import { catalogOrder } from './model-store.js'
import { modelVersions } from './schema.js'

/** What an import says about one version. What it leaves out keeps its value, or for a new version the default. */
export type ImportedModel = Pick<ModelVersion, 'id' | 'name' | 'modelName' | 'baseModel' | 'type' | 'filename'> &
  Partial<ModelVersion>

export type ImportOutcome =
  | { readonly outcome: 'imported' }
  /** The Create Image model is served by a version that the import does not speak of. */
  | { readonly outcome: 'taken'; readonly createImageModel: string; readonly by: number }

export const operatorModelStore = (db: Database) => {
  const { orm, pool } = db
  return {
    /** All or nothing. The Create Image models that the import assigns are freed first, so that they can change places. */
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

    /** Enabled ones that a backend has which was announced as up within so many ms. One that lists no models has all. */
    async listServedIds(withinMs: number): Promise<number[]> {
      const { rows } = await pool.query<{ id: number }>(
        `SELECT id FROM model_versions m WHERE enabled AND EXISTS (
           SELECT FROM backends b WHERE b.up AND b.seen_at >= now() - $1 * interval '1 ms'
              AND (b.models IS NULL OR m.filename = ANY (b.models)))`,
        [withinMs],
      )
      return rows.map(({ id }) => id)
    },

    /** False: there is no such version. */
    async setEnabled(id: number, enabled: boolean): Promise<boolean> {
      const { rowCount } = await orm.update(modelVersions).set({ enabled }).where(eq(modelVersions.id, id))
      return rowCount === 1
    },
  }
}
