import { and, eq, exists, gte, isNull, not, or, sql } from 'drizzle-orm'
import type { ModelStore, ModelVersion } from '../../core/catalog/model-version.js'
import { defaultOf } from '../../core/catalog/model-version.js'
import { batched } from '../../lib/batch.js'
import type { Database } from '../client.js'
import { PAUSED_BACKEND, pausedModel } from '../pause-conditions.js'
import { modelVersions as m } from '../schema/catalog.js'
import { backends as b } from '../schema/workers.js'
import { columns } from '../statement.js'

/** The contract's order: by lower(model_name) in byte order, then lower(name), then id. */
export const CATALOG_ORDER = [sql`lower(${m.modelName}) COLLATE "C"`, sql`lower(${m.name}) COLLATE "C"`, m.id]

/** A worker that runs announces its backends every 5 s. */
const ANNOUNCED_WITHIN_MS = 15_000

interface ServedModels {
  /** Enabled ones that a backend has which was up within so many ms, and that no pause holds back. A backend that lists no models has all. */
  listServedIds(withinMs: number): Promise<number[]>
}

/** @param chosen the operator's default, if any */
export const modelStore = ({ orm }: Database, chosen?: number): ModelStore & ServedModels => {
  const select = () => orm.select().from(m)
  const findAll = select()
    .where(eq(m.id, sql`ANY (${sql.placeholder('ids')})`))
    .prepare('find_models')
  const find = batched(async (ids: readonly number[]) => {
    const found = new Map((await findAll.execute({ ids })).map((model) => [model.id, model]))
    return ids.map((id) => found.get(id))
  })
  const findByCreateImageModel = select()
    .where(eq(m.createImageModel, sql.placeholder('model')))
    .prepare('find_create_image_model')
  const listEnabled = select()
    .where(eq(m.enabled, true))
    .orderBy(...CATALOG_ORDER)
    .prepare('list_enabled_models')
  const seen = gte(b.seenAt, sql`now() - ${sql.placeholder('withinMs')}::float8 * interval '1 ms'`)
  const has = or(isNull(b.models), sql`${m.filename} = ANY (${b.models})`)
  const serving = orm
    .select(columns(b, 'worker'))
    .from(b)
    .where(and(b.up, seen, has, not(PAUSED_BACKEND)))
  const listServed = orm
    .select(columns(m, 'id'))
    .from(m)
    .where(and(m.enabled, not(pausedModel(m.filename)), exists(serving)))
    .prepare('list_served_models')
  const listServedIds = async (withinMs: number) => (await listServed.execute({ withinMs })).map(({ id }) => id)
  return {
    // Postgres would refuse an id that is no bigint.
    find: unlessRead(async (id: number) => (Number.isSafeInteger(id) ? find(id) : undefined)),
    findByCreateImageModel: unlessRead(async (model: string) => (await findByCreateImageModel.execute({ model }))[0]),
    listEnabled: () => listEnabled.execute(),
    listServedIds,
    async findDefault() {
      const [enabled, served] = await Promise.all([listEnabled.execute(), listServedIds(ANNOUNCED_WITHIN_MS)])
      return defaultOf(enabled, served, chosen)
    },
  }
}

type Read<Key> = (key: Key) => Promise<ModelVersion | undefined>

/** Reads a version only if it was not yet read at this revision. What is read is of this revision, or newer. */
function unlessRead<Key>(read: Read<Key>) {
  const versions = new Map<Key, { readonly revision: string; readonly model: ModelVersion }>()
  return async (key: Key, revision: string | null = null): Promise<ModelVersion | undefined> => {
    if (revision === null) return read(key)
    const known = versions.get(key)
    if (known?.revision === revision) return known.model
    const model = await read(key)
    // No client can fill the memory: only names that exist are kept.
    if (model) versions.set(key, { revision, model })
    else versions.delete(key)
    return model
  }
}
