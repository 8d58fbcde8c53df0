import { mkdir, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ForeignDirectory, requireOwn } from '../own-directory.js'
import type { AnyImageStore } from './any-image-store.js'
import { fileImageStore, probeDirectory, TEMPORARY_FILE } from './file-image-store.js'
import { movingImageStore } from './moving-image-store.js'
import { s3ImageStore } from './s3-image-store.js'
import type { Storage } from './storage.js'

interface StoreConfig {
  readonly storage: Storage
  /** Where images are read from that are not in `storage` yet. */
  readonly oldStorage?: Storage | undefined
  readonly cdnBaseUrl: string
}

/** No put takes that long: a temporary file this old was left by a process that was killed. */
const ABANDONED_AFTER_MS = 3_600_000
/** A group may be let in: an orchestrator hands volumes over that way. */
const EVERYBODY = 0o002

/** The store as it is: nothing is made, cleared away or asked before its first use. */
export function imageStore({ storage, oldStorage, cdnBaseUrl }: StoreConfig): AnyImageStore {
  const storeOf = (it: Storage) =>
    it.kind === 'file' ? fileImageStore({ root: it.path, cdnBaseUrl }) : s3ImageStore(it, cdnBaseUrl)
  return oldStorage ? movingImageStore(storeOf(storage), storeOf(oldStorage)) : storeOf(storage)
}

/**
 * The store, its directory created if need be.
 * @throws Error with one sentence when an image can't be stored there; ForeignDirectory
 */
export async function createImageStore(config: StoreConfig): Promise<AnyImageStore> {
  const store = imageStore(config)
  if (config.storage.kind === 's3') {
    await store.check()
    return store
  }
  const { path: root } = config.storage
  try {
    await mkdir(root, { recursive: true, mode: 0o750 })
    await requireOwn(root, EVERYBODY)
    await probeDirectory(root, 0)
  } catch (error) {
    if (error instanceof ForeignDirectory) throw error
    const reason = error instanceof Error ? error.message : String(error)
    const message = `Images can't be stored in ${root}; make it a writable directory or change STORAGE_URL (${reason}).`
    throw new Error(message, { cause: error })
  }
  return store
}

/**
 * For processes that must start even when the store is away: requests are answered without images, and workers put
 * their generations back until it returns. A bucket is tried, and temporary files that killed processes left are
 * removed, in the background: the bucket may be slow, and the directory may hold millions of files.
 * @param onUnusable told once, with the sentence for the operator
 * @throws ForeignDirectory
 */
export async function openImageStore(
  config: StoreConfig,
  onUnusable: (error: unknown) => void,
): Promise<AnyImageStore> {
  const created = createImageStore(config)
  if (config.storage.kind === 's3') {
    created.catch(onUnusable)
    return imageStore(config)
  }
  try {
    const store = await created
    // Best effort: the next start looks again.
    removeAbandoned(config.storage.path).catch(() => undefined)
    return store
  } catch (error) {
    if (error instanceof ForeignDirectory) throw error
    onUnusable(error)
    return imageStore(config)
  }
}

async function removeAbandoned(root: string) {
  for await (const entry of await opendir(root, { bufferSize: 1024 })) {
    if (!TEMPORARY_FILE.test(entry.name)) continue
    const file = join(root, entry.name)
    const found = await stat(file).catch(() => undefined) // its writer may rename it meanwhile
    if (found && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true })
  }
}
