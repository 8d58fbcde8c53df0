import { mkdir, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { IMAGE_FILE } from '../generation/generation.js'
import { ForeignDirectory, requireOwn } from '../own-directory.js'
import {
  EXTENSIONS,
  type FileImageStore,
  fileImageStore,
  ifMissing,
  probeDirectory,
  TEMPORARY_FILE,
} from './file-image-store.js'

interface StoreConfig {
  /** Absolute. */
  readonly storagePath: string
  readonly cdnBaseUrl: string
}

/** No put takes that long: a temporary file this old was left by a process that was killed. */
const ABANDONED_AFTER_MS = 3_600_000
/** A group may be let in: an orchestrator hands volumes over that way. */
const EVERYBODY = 0o002

/**
 * Opens the image directory, creating it if need be.
 * @throws Error with one sentence when the directory can't be created or written; ForeignDirectory
 */
export async function createImageStore({ storagePath: root, cdnBaseUrl }: StoreConfig): Promise<FileImageStore> {
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
  return fileImageStore({ root, cdnBaseUrl })
}

/**
 * For processes that must start even when the store is away: requests are answered without images, and workers put
 * their generations back until it returns. Temporary files that killed processes left are removed in the background,
 * since the directory may hold millions of files.
 * @param onUnusable told once, with the sentence for the operator
 * @throws ForeignDirectory
 */
export async function openImageStore(
  config: StoreConfig,
  onUnusable: (error: unknown) => void,
): Promise<FileImageStore> {
  try {
    const store = await createImageStore(config)
    // Best effort: the next start looks again.
    removeAbandoned(config.storagePath).catch(() => undefined)
    return store
  } catch (error) {
    if (error instanceof ForeignDirectory) throw error
    onUnusable(error)
    return fileImageStore({ root: config.storagePath, cdnBaseUrl: config.cdnBaseUrl })
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

const PAGE = 1000

/** The image directory, only read: unlike createImageStore it makes and clears away nothing. */
export function storedImages({ storagePath, cdnBaseUrl }: StoreConfig) {
  const { read, readThumbnail } = fileImageStore({ root: storagePath, cdnBaseUrl })
  const changedAt = async (slug: string) => {
    const times = EXTENSIONS.map((it) =>
      stat(join(storagePath, `${slug}.${it}`)).then((found) => found.mtime, ifMissing),
    )
    return (await Promise.all(times)).find((time) => time !== undefined)
  }
  return {
    read,
    readThumbnail,
    changedAt,
    exists: async (slug: string) => (await changedAt(slug)) !== undefined,

    async *all() {
      const directory = await opendir(storagePath, { bufferSize: PAGE }).catch(ifMissing)
      let page: string[] = []
      for await (const { name } of directory ?? []) {
        const slug = IMAGE_FILE.exec(name)?.[1]
        if (!slug || page.push(slug) < PAGE) continue
        yield page
        page = []
      }
      if (page.length > 0) yield page
    },
  }
}
