import { inPlace, type ModelVersion } from '../catalog/model-version.js'
import { AppError } from '../errors.js'
import type { Acting } from './acting.js'
import type { ImportedVersion, UnservedVersion } from './imported-versions.js'
import type { ActedBy } from './operator-actions.js'
import type { BackendState } from './overview.js'

export const MAX_PRICE = 1_000_000

type Described = 'id' | 'name' | 'modelName' | 'baseModel' | 'type'

/** One version of an import. What is absent keeps its value, or gets the default in a new version. */
export type ImportedModel = Pick<ModelVersion, Described> &
  Partial<Omit<ModelVersion, Described | 'filename'>> &
  ({ readonly filename: string } | { readonly definition: { readonly name: string; readonly document: string } })

export type ImportOutcome =
  /** With the file names of the models, in their order. */
  | { readonly outcome: 'imported'; readonly filenames: readonly string[] }
  /** The Create Image model is served by a version that is not in the import. */
  | { readonly outcome: 'taken'; readonly createImageModel: string; readonly by: number }

/** An import of model versions, before which the backends were asked what they can draw. */
export interface PreparedImport {
  readonly count: number
  readonly unserved: readonly UnservedVersion[]
  import(catalog: CatalogChanges): Promise<ImportOutcome>
  /** What became of each. @param now the catalog after it */
  versionsOf(now: readonly ModelVersion[]): readonly ImportedVersion[]
}

/** What sets something records the act with it. False: there is no such version. */
export interface CatalogChanges {
  /**
   * All or nothing. Frees the Create Image models of the import first, so that versions can swap them.
   * @param onlyNew updates none
   * @throws invalid_request where it would have to
   */
  import(models: readonly ImportedModel[], onlyNew?: boolean): Promise<ImportOutcome>
  /** Disabled ones too, in the catalog's order. */
  list(): Promise<ModelVersion[]>
  /** As their workers have announced them last. */
  backends(): Promise<BackendState[]>
  /** What is queued still runs. */
  setEnabled(id: number, enabled: boolean, by: ActedBy): Promise<boolean>
  /** In credits per image, for what is submitted from now on. */
  setPrice(id: number, credits: number, by: ActedBy): Promise<boolean>
  /** Records nothing itself, as all that follow. Forgets the uploaded pictures that no version has. */
  setShown(id: number, shown: Partial<Pick<ModelVersion, 'description' | 'cover'>>): Promise<boolean>
  /** Under its name, before a version gets it. */
  storeCover(name: string, webp: Buffer): Promise<void>
  /** Their places from 1 on. */
  setOrder(ids: readonly number[]): Promise<void>
  /** Undefined: none is the operator's choice any more. */
  setDefault(id: number | undefined): Promise<boolean>
}

export const noSuchVersion = (id: number | string) =>
  new AppError('not_found', `No model version has the ID ${id}.`, { parameter: 'model_version_id' })

export type CatalogStores = { readonly catalog: CatalogChanges }

/** @throws not_found */
export async function setEnabled({ stores, by }: Acting<CatalogStores>, id: number, enabled: boolean): Promise<void> {
  if (!(await stores.catalog.setEnabled(id, enabled, by))) throw noSuchVersion(id)
}

/** @throws not_found */
export async function setPrice({ stores, by }: Acting<CatalogStores>, id: number, credits: number): Promise<void> {
  if (!(await stores.catalog.setPrice(id, credits, by))) throw noSuchVersion(id)
}

/**
 * Adds model versions, or updates those whose ID exists already; all or none.
 * @param confirm throws unless versions that are drawn now may get what no backend that is up can draw
 * @throws invalid_request
 */
export async function importModels(
  acting: Acting<CatalogStores>,
  prepared: PreparedImport,
  confirm: (unserved: readonly UnservedVersion[]) => Promise<void>,
): Promise<readonly ImportedVersion[]> {
  const { count, unserved } = prepared
  if (unserved.length > 0) await confirm(unserved)
  const imported = await acting.recorded(
    ({ catalog }) => prepared.import(catalog),
    (done) => {
      if (done.outcome !== 'imported') return undefined
      return count === 1
        ? ['imported 1 model version', `${done.filenames[0]}`]
        : [`imported ${count} model versions`, '']
    },
  )
  if (imported.outcome === 'taken')
    throw new AppError(
      'invalid_request',
      `create_image_model ${imported.createImageModel} belongs to model version ${imported.by}: to move it, set it to null there in the same import.`,
    )
  return prepared.versionsOf(await acting.stores.catalog.list())
}

/** @param description a line; null: none. @throws not_found */
export const describeModel = (acting: Acting<CatalogStores>, id: number, description: string | null): Promise<void> =>
  changed(acting, id, (catalog) => catalog.setShown(id, { description }), 'described model version')

/** What a version's picture becomes: the published image with this slug, an upload, or none. */
export type NewCover = { readonly slug: string } | { readonly name: string; readonly webp: Buffer } | undefined

/** @throws not_found */
export const setCover = (acting: Acting<CatalogStores>, id: number, cover: NewCover): Promise<void> =>
  changed(
    acting,
    id,
    async (catalog) => {
      if (cover && 'webp' in cover) await catalog.storeCover(cover.name, cover.webp)
      return catalog.setShown(id, { cover: cover === undefined ? null : 'slug' in cover ? cover.slug : cover.name })
    },
    cover ? 'set the cover of model version' : 'removed the cover of model version',
  )

/** Moves a version before or behind its neighbour, where people choose. @throws not_found */
export const moveModel = (acting: Acting<CatalogStores>, id: number, by: -1 | 1): Promise<void> =>
  changed(
    acting,
    id,
    async (catalog) => {
      const ids = inPlace(await catalog.list()).map((model) => model.id)
      const from = ids.indexOf(id)
      if (from < 0) return false
      const [moved] = ids.splice(from, 1)
      ids.splice(Math.max(0, from + by), 0, moved as number)
      await catalog.setOrder(ids)
      return true
    },
    `moved ${by < 0 ? 'up' : 'down'} model version`,
  )

/** What is taken where no model is named. @param id undefined: none is chosen any more. @throws not_found */
export async function setDefaultModel(acting: Acting<CatalogStores>, id: number | undefined): Promise<void> {
  if (id !== undefined)
    return changed(acting, id, (catalog) => catalog.setDefault(id), 'made the default: model version')
  await acting.recorded(
    ({ catalog }) => catalog.setDefault(undefined),
    (done) => (done ? ['chose no default model version', ''] : undefined),
  )
}

async function changed(
  acting: Acting<CatalogStores>,
  id: number,
  change: (catalog: CatalogChanges) => Promise<boolean>,
  action: string,
): Promise<void> {
  const done = await acting.recorded(
    ({ catalog }) => change(catalog),
    (isDone) => (isDone ? [action, `${id}`] : undefined),
  )
  if (!done) throw noSuchVersion(id)
}
