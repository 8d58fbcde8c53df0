import { randomBytes } from 'node:crypto'
import { mkdir, open, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ForeignDirectory, requireOwn } from '../own-directory.js'
import { type FileImageStore, fileImageStore, TEMPORARY_FILE } from './file-image-store.js'

/** No put takes that long: a temporary file this old was left by a process that was killed. */
const ABANDONED_AFTER_MS = 3_600_000
/** A group may be let in: an orchestrator hands volumes over that way. */
const EVERYBODY = 0o002

/**
 * Opens the image directory, creating it if need be.
 * @throws Error with one sentence when the directory can't be created or written; ForeignDirectory
 */
export async function createImageStore(config: {
  /** Absolute. */
  readonly storagePath: string
  readonly cdnBaseUrl: string
}): Promise<FileImageStore> {
  const root = config.storagePath
  try {
    await mkdir(root, { recursive: true, mode: 0o750 })
    await requireOwn(root, EVERYBODY)
    await requireWritable(root)
  } catch (error) {
    if (error instanceof ForeignDirectory) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `Images can't be stored in ${root}; make it a writable directory or change STORAGE_URL (${reason}).`,
      {
        cause: error,
      },
    )
  }
  return fileImageStore({ root, cdnBaseUrl: config.cdnBaseUrl })
}

/**
 * For processes that must start all the same: a store that is away at start is treated as one that goes away later.
 * Requests are answered, images are not to be had, and workers put their generations back until it returns. What killed
 * processes left half-written is cleared away meanwhile: nobody waits for a look through a directory of millions.
 * @param onUnusable told once, with the sentence for the operator
 * @throws ForeignDirectory
 */
export async function openImageStore(
  config: { readonly storagePath: string; readonly cdnBaseUrl: string },
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

/** Permission bits don't tell of read-only mounts and full disks; a file does. */
async function requireWritable(root: string) {
  const probe = join(root, `.probe.${randomBytes(8).toString('hex')}.tmp`)
  try {
    const handle = await open(probe, 'wx', 0o600)
    await handle.close()
  } finally {
    await rm(probe, { force: true })
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
