import { and, inArray, isNotNull, notInArray, type SQL, sql } from 'drizzle-orm'
import { invalidParameter } from '../../core/errors.js'
import type { CatalogChanges } from '../../core/operator/catalog.js'
import { CATALOG_ORDER } from '../catalog/models.js'
import { type Database, withTransaction } from '../client.js'
import { modelVersions as m } from '../schema/catalog.js'
import { columns, param, setList, statement } from '../statement.js'
import { revisionOf } from './definition-revisions.js'
import { recordingOf } from './operator-actions.js'

interface OperatorModelStore extends CatalogChanges {
  /**
   * All or nothing. Frees the Create Image models of the import first, so that versions can swap them.
   * @param onlyNew updates none
   * @throws invalid_request where it would have to
   */
  import(models: readonly ImportedModel[], onlyNew?: boolean): Promise<ImportOutcome>
}

/** One version of an import. What is absent keeps its value, or gets the default in a new version. */
export type ImportedModel = Omit<typeof m.$inferInsert, 'filename'> &
  ({ readonly filename: string } | { readonly definition: { readonly name: string; readonly document: string } })

type ImportOutcome =
  /** With the file names of the models, in their order. */
  | { readonly outcome: 'imported'; readonly filenames: readonly string[] }
  /** The Create Image model is served by a version that is not in the import. */
  | { readonly outcome: 'taken'; readonly createImageModel: string; readonly by: number }

const OF_ID = sql`WHERE ${m.id} = ${param('id')}::bigint RETURNING ${m.id}`
const recorded = (done: SQL) => sql`WITH done AS (${done}), recorded AS (${recordingOf(sql`done`)}) SELECT FROM done`

const SET_ENABLED = statement('set_model_enabled')`${recorded(sql`
  UPDATE ${m} SET ${setList(m, { enabled: sql`${param('enabled')}::boolean` })} ${OF_ID}`)}`

const SET_PRICE = statement('set_model_price')`${recorded(sql`
  UPDATE ${m} SET ${setList(m, { creditsPerImage: sql`${param('credits')}::integer` })} ${OF_ID}`)}`

const exists = (id: number) =>
  invalidParameter('id', `Model version ${id} exists already: choose another ID, or give that version a new revision.`)

export const operatorModelStore = (db: Database): OperatorModelStore => ({
  import: (models, onlyNew = false) =>
    withTransaction(db, async (tx) => {
      const assigning = models.filter(({ createImageModel }) => createImageModel !== undefined)
      const assigned = assigning.flatMap(({ createImageModel }) => createImageModel ?? [])
      const ids = assigning.map(({ id }) => id)
      const [taken] = await tx
        .select(columns(m, 'id', 'createImageModel'))
        .from(m)
        .where(and(inArray(m.createImageModel, assigned), notInArray(m.id, ids)))
        .limit(1)
      if (taken) return { outcome: 'taken', by: taken.id, createImageModel: taken.createImageModel ?? '' }
      const freed = and(inArray(m.id, ids), isNotNull(m.createImageModel))
      await tx.update(m).set({ createImageModel: null }).where(freed)
      const filenames: string[] = []
      for (const imported of models) {
        const { definition, ...model } = { definition: undefined, ...imported }
        const filename = definition ? await revisionOf(tx, definition) : (model as { filename: string }).filename
        const row = { ...model, filename }
        const insert = tx.insert(m).values(row)
        const stored = onlyNew ? insert.onConflictDoNothing() : insert.onConflictDoUpdate({ target: m.id, set: row })
        if ((await stored).rowCount === 0) throw exists(row.id)
        filenames.push(filename)
      }
      return { outcome: 'imported', filenames }
    }),

  list: () =>
    db.orm
      .select()
      .from(m)
      .orderBy(...CATALOG_ORDER),

  setEnabled: async (id, enabled, by) => {
    const action = enabled ? 'enabled model version' : 'disabled model version'
    return (await SET_ENABLED.count(db.pool, { ...by, action, target: `${id}`, id, enabled })) === 1
  },

  setPrice: async (id, credits, by) => {
    const action = `set the price to ${credits} of model version`
    return (await SET_PRICE.count(db.pool, { ...by, action, target: `${id}`, id, credits })) === 1
  },
})
