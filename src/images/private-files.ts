/** The files of private images: in the same store, below a folder whose name nobody can guess. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AnyImageStore } from './any-image-store.js'
import { createImageStore, eitherImageStore, imageStore, type StoreConfig } from './open-image-store.js'
import { sameStoreAs } from './s3-client.js'
import type { Storage } from './storage.js'

/** All files of an installation. As a whole it reads and removes an image wherever its files are, and puts public ones. */
export interface WholeImageStore extends AnyImageStore {
  readonly publicFiles: AnyImageStore
  readonly privateFiles: AnyImageStore
}

/** What a web server in front of a directory, or a CDN in front of a bucket, must not serve. */
const FOLDER = 'private'

/** @param folder the name below `private/`; asked when it is first needed */
export function withPrivateFiles<Store extends AnyImageStore>(
  publicFiles: Store,
  config: StoreConfig,
  folder: () => Promise<string>,
): Store & WholeImageStore {
  const privateFiles = privateImageStore(config, folder)
  const { open } = publicFiles
  return { ...publicFiles, ...eitherImageStore(publicFiles, privateFiles), open, publicFiles, privateFiles }
}

function privateImageStore(config: StoreConfig, folder: () => Promise<string>): AnyImageStore {
  const { storage, oldStorage } = config
  let known: Promise<StoreConfig> | undefined
  const below = () => {
    known ??= folder().then(
      (name) => ({
        ...config,
        storage: folderOf(storage, name),
        oldStorage: oldStorage && folderOf(oldStorage, name),
      }),
      (error) => {
        known = undefined
        throw error
      },
    )
    return known
  }
  let found: AnyImageStore | undefined
  const store = async () => {
    found ??= imageStore(await below())
    return found
  }
  const { url, thumbnailUrl } = imageStore(config)
  return {
    async put(slug, png, options) {
      // Nobody but its owner may enter it: a web server in front often belongs to the group.
      if (storage.kind === 'file') await mkdir(join(storage.path, FOLDER), { recursive: true, mode: 0o700 })
      return (await createImageStore(await below())).put(slug, png, options)
    },
    remove: async (slug) => (await store()).remove(slug),
    check: async () => (await store()).check(),
    read: async (slug) => (await store()).read(slug),
    readThumbnail: async (slug) => (await store()).readThumbnail(slug),
    sha256: async (slug, extension) => (await store()).sha256(slug, extension),
    exists: async (slug) => (await store()).exists(slug),
    changedAt: async (slug) => (await store()).changedAt(slug),
    async *all() {
      yield* (await store()).all()
    },
    open: async (request) => (await store()).open(request),
    // It has none of its own.
    ...{ url, thumbnailUrl },
  }
}

const folderOf = (storage: Storage, name: string): Storage =>
  storage.kind === 'file'
    ? { ...storage, path: join(storage.path, FOLDER, name), within: storage.path }
    : sameStoreAs(storage, { ...storage, prefix: `${storage.prefix}${FOLDER}/${name}/` })
