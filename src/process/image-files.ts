import { privateFolderOf } from '../core/images/image-links.js'
import type { Database } from '../db/client.js'
import { imageSecret } from '../db/images/privacy.js'
import type { AnyImageStore } from '../images/any-image-store.js'
import { imageStore, type StoreConfig } from '../images/open-image-store.js'
import { type WholeImageStore, withPrivateFiles } from '../images/private-files.js'

/** The public files and the private ones; Postgres knows where those are. */
export const allImageFiles = <Store extends AnyImageStore>(
  publicFiles: Store,
  config: StoreConfig,
  db: Database,
): Store & WholeImageStore => {
  const secret = imageSecret(db)
  return withPrivateFiles(publicFiles, config, async () => privateFolderOf(await secret()))
}

/** Of a store that is opened for one command. */
export const wholeImageStore = (config: StoreConfig, db: Database): WholeImageStore =>
  allImageFiles(imageStore(config), config, db)
