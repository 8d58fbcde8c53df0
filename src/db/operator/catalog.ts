import { and, eq, inArray, isNotNull, notInArray, or, type SQL, sql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { invalidParameter } from '../../core/errors.js'
import type { CatalogChanges, ImportedModel } from '../../core/operator/catalog.js'
import { CATALOG_ORDER } from '../catalog/models.js'
import { type Database, withTransaction } from '../client.js'
import { modelCovers as c, modelVersions as m } from '../schema/catalog.js'
import { columns, param, setList, statement } from '../statement.js'
import { askAbout, revisionOf } from './definition-revisions.js'
import { recordingOf } from './operator-actions.js'
import { backendStates } from './overview.js'

interface OperatorModelStore extends CatalogChanges {
  /** Stores the definitions of an import, which stay even if it is given up. @returns the file names of the models, in their order */
  storeDefinitions(models: readonly ImportedModel[]): Promise<string[]>
  /** Has workers look whether their backends can draw with these definitions. @returns those that there are, and since when */
  ask(definitions: readonly string[]): ReturnType<typeof askAbout>
}

const OF_ID = sql`WHERE ${m.id} = ${param('id')}::bigint RETURNING ${m.id}`
const recorded = (done: SQL) => sql`WITH done AS (${done}), recorded AS (${recordingOf(sql`done`)}) SELECT FROM done`

const SET_ENABLED = statement('set_model_enabled')`${recorded(sql`
  UPDATE ${m} SET ${setList(m, { enabled: sql`${param('enabled')}::boolean` })} ${OF_ID}`)}`

const SET_PRICE = statement('set_model_price')`${recorded(sql`
  UPDATE ${m} SET ${setList(m, { creditsPerImage: sql`${param('credits')}::integer` })} ${OF_ID}`)}`

export const versionExists = (id: number) =>
  invalidParameter('id', `Model version ${id} exists already: choose another ID, or give that version a new revision.`)

const filenameOf = async (tx: NodePgDatabase, model: ImportedModel): Promise<string> =>
  'definition' in model ? revisionOf(tx, model.definition) : model.filename

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
        const { definition: _, ...model } = { definition: undefined, ...imported }
        const filename = await filenameOf(tx, imported)
        const row = { ...model, filename }
        const insert = tx.insert(m).values(row)
        const stored = onlyNew ? insert.onConflictDoNothing() : insert.onConflictDoUpdate({ target: m.id, set: row })
        if ((await stored).rowCount === 0) throw versionExists(row.id)
        filenames.push(filename)
      }
      return { outcome: 'imported', filenames }
    }),

  storeDefinitions: (models) =>
    withTransaction(db, async (tx) => {
      const filenames: string[] = []
      for (const model of models) filenames.push(await filenameOf(tx, model))
      return filenames
    }),

  ask: (definitions) => askAbout(db, definitions),
  backends: () => backendStates(db),

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

  async setShown(id, shown) {
    const { rowCount } = await db.orm.update(m).set(shown).where(eq(m.id, id))
    await db.orm.delete(c).where(sql`NOT EXISTS (SELECT FROM ${m} WHERE ${m.cover} = ${c.name})`)
    return rowCount === 1
  },

  async storeCover(name, webp) {
    await db.orm.insert(c).values({ name, webp }).onConflictDoNothing()
  },

  async setOrder(ids) {
    const place = sql`array_position(${sql.param(ids)}::bigint[], ${m.id})`
    await db.orm.update(m).set({ position: place }).where(sql`${m.position} IS DISTINCT FROM ${place}`)
  },

  async setDefault(id) {
    if (id !== undefined && (await db.orm.$count(m, eq(m.id, id))) === 0) return false
    const isIt = sql`${m.id} IS NOT DISTINCT FROM ${id ?? null}::bigint`
    const { rowCount } = await db.orm.update(m).set({ isDefault: isIt }).where(or(m.isDefault, isIt))
    return (rowCount ?? 0) > 0
  },
})
