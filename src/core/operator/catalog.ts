import type { ModelVersion } from '../catalog/model-version.js'
import { AppError } from '../errors.js'
import type { Acting } from './acting.js'
import type { ActedBy } from './operator-actions.js'
import type { BackendState } from './overview.js'

export const MAX_PRICE = 1_000_000

/** The changes record the act with them. False: there is no such version. */
export interface CatalogChanges {
  /** Disabled ones too, in the catalog's order. */
  list(): Promise<ModelVersion[]>
  /** As their workers have announced them last. */
  backends(): Promise<BackendState[]>
  /** What is queued still runs. */
  setEnabled(id: number, enabled: boolean, by: ActedBy): Promise<boolean>
  /** In credits per image, for what is submitted from now on. */
  setPrice(id: number, credits: number, by: ActedBy): Promise<boolean>
}

export const noSuchVersion = (id: number | string) =>
  new AppError('not_found', `No model version has the ID ${id}.`, { parameter: 'model_version_id' })

type CatalogStores = { readonly catalog: CatalogChanges }

/** @throws not_found */
export async function setEnabled({ stores, by }: Acting<CatalogStores>, id: number, enabled: boolean): Promise<void> {
  if (!(await stores.catalog.setEnabled(id, enabled, by))) throw noSuchVersion(id)
}

/** @throws not_found */
export async function setPrice({ stores, by }: Acting<CatalogStores>, id: number, credits: number): Promise<void> {
  if (!(await stores.catalog.setPrice(id, credits, by))) throw noSuchVersion(id)
}
