import { mkdir, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../core/log.js'
import { ForeignDirectory, requireOwn } from '../lib/own-directory.js'
import type { AnyImageStore } from './any-image-store.js'
import { fileImageStore, probeDirectory, storingIn, TEMPORARY_FILE } from './file-image-store.js'
import { s3ImageStore } from './s3-image-store.js'
import type { Storage } from './storage.js'
import { type StoreWatch, watchedImageStore } from './watched-image-store.js'

export interface StoreConfig {
  readonly storage: Storage
  /** Where images are read from that are not in `storage` yet. */
  readonly oldStorage?: Storage | undefined
  /** Whether a directory of others will do: see STORAGE_ANY_OWNER. */
  readonly storageAnyOwner?: boolean
  readonly cdnBaseUrl: string
  /** How much a check of the store writes. Less than the largest image takes is for tests. */
  readonly probeBytes?: number | undefined
}

/** No put takes that long: a temporary file this old was left by a process that was killed. */
const ABANDONED_AFTER_MS = 3_600_000
/** A group may be let in: an orchestrator hands volumes over that way. */
const EVERYBODY = 0o002
const NO_MODES = 'If its mount knows no owners and modes, set STORAGE_ANY_OWNER=true.'

/** The store as it is: nothing is made, cleared away or asked before its first use. */
export function imageStore({ storage, oldStorage, cdnBaseUrl, probeBytes }: StoreConfig): AnyImageStore {
  const storeOf = (it: Storage) =>
    it.kind === 'file'
      ? fileImageStore({ root: it.path, within: it.within, cdnBaseUrl, probeBytes })
      : s3ImageStore(it, cdnBaseUrl, probeBytes)
  return oldStorage ? eitherImageStore(storeOf(storage), storeOf(oldStorage)) : storeOf(storage)
}

/**
 * The store, its directory created if need be. A bucket is asked nothing.
 * @throws Error with one sentence when a file can't be stored in the directory; ForeignDirectory
 */
export async function createImageStore(config: StoreConfig): Promise<AnyImageStore> {
  const store = imageStore(config)
  if (config.storage.kind === 'file') await createDirectory(config.storage.path, config)
  return store
}

async function createDirectory(root: string, { storageAnyOwner = false }: StoreConfig): Promise<void> {
  await storingIn(root, 0, async () => {
    await mkdir(root, { recursive: true, mode: 0o750 })
    if (!storageAnyOwner) await requireOwn(root, { writers: EVERYBODY, ofGroup: true, otherwise: NO_MODES })
  })
  await probeDirectory(root)
}

/**
 * For processes that must start even when the store is away: requests are answered without images, and workers draw
 * nothing until it returns. Nothing is checked but a directory's owner. Temporary files that killed processes left are
 * removed in the background, because there may be millions of images.
 * @throws ForeignDirectory
 */
export async function openImageStore(config: StoreConfig, log: Log): Promise<AnyImageStore & StoreWatch> {
  const { storage } = config
  if (storage.kind === 'file')
    await createDirectory(storage.path, config)
      // Best effort: the next start looks again.
      .then(() => void removeAbandoned(storage.path).catch(() => undefined))
      .catch((err) => {
        if (err instanceof ForeignDirectory) throw err
        log.error({ err }, 'images can not be stored yet')
      })
  return watchedImageStore(imageStore(config), log)
}

async function removeAbandoned(root: string) {
  for await (const entry of await opendir(root, { bufferSize: 1024 })) {
    if (!TEMPORARY_FILE.test(entry.name)) continue
    const file = join(root, entry.name)
    const found = await stat(file).catch(() => undefined) // its writer may rename it meanwhile
    if (found && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true })
  }
}

/**
 * Two stores as one, such as while `easel storage move` copies from the older one: new images go to the newer one, an image
 * is read from where it is, and removed from both.
 */
export const eitherImageStore = (newer: AnyImageStore, older: AnyImageStore): AnyImageStore => {
  /** Also from the older one where the newer one fails: some stores forbid what is not there. */
  const find = async <T>(ask: (store: AnyImageStore) => Promise<T | undefined>): Promise<T | undefined> => {
    const [found, fault] = await ask(newer).then(
      (it) => [it, undefined] as const,
      (error: unknown) => [undefined, { error }] as const,
    )
    if (found !== undefined) return found
    const old = await ask(older)
    if (old === undefined && fault) throw fault.error
    return old
  }
  return {
    ...newer,
    async remove(slug) {
      await Promise.all([newer.remove(slug), older.remove(slug)])
    },
    read: (slug) => find((store) => store.read(slug)),
    readThumbnail: (slug) => find((store) => store.readThumbnail(slug)),
    sha256: (slug, extension) => find((store) => store.sha256(slug, extension)),
    exists: async (slug) => (await find(async (store) => (await store.exists(slug)) || undefined)) ?? false,
    changedAt: (slug) => find((store) => store.changedAt(slug)),
    async *all() {
      yield* newer.all()
      yield* older.all()
    },
    open: (request) => find((store) => store.open(request)),
  }
}
