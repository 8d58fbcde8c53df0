/** The files of the archive: in the image store, below the folder `archive`. Whoever reads one there needs its key, which is in Postgres. */
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ArchiveFiles } from '../core/generations/archive-months.js'
import { sha256Of } from './any-image-store.js'
import { ifMissing, storingIn, syncDirectory, writeDurably } from './file-image-store.js'
import { ANYTHING } from './objects.js'
import type { StoreConfig } from './open-image-store.js'
import { s3Bucket } from './s3-bucket.js'
import { sameStoreAs } from './s3-client.js'
import type { Storage } from './storage.js'

const FOLDER = 'archive'
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The only place where an ID becomes a file's name. */
function nameOf(id: string): string {
  if (!ID.test(id)) throw new Error(`${JSON.stringify(id)} is no ID of a file of the archive`)
  return `${id}.archive`
}

/** While images move from an old store to another, files are read from both, and removed from both. */
export function archiveFiles({ storage, oldStorage }: Pick<StoreConfig, 'storage' | 'oldStorage'>): ArchiveFiles {
  const newer = filesIn(storage)
  if (!oldStorage) return newer
  const older = filesIn(oldStorage)
  return {
    put: newer.put,
    // Also from the older one where the newer one fails: some stores forbid what is not there.
    read: async (id) => {
      const [found, fault] = await newer.read(id).then(
        (bytes) => [bytes, undefined],
        (error) => [undefined, error],
      )
      const bytes = found ?? (await older.read(id))
      if (!bytes && fault) throw fault
      return bytes
    },
    remove: async (id) => void (await Promise.all([newer.remove(id), older.remove(id)])),
  }
}

const filesIn = (storage: Storage): ArchiveFiles =>
  storage.kind === 'file'
    ? inDirectory(join(storage.path, FOLDER))
    : inBucket(sameStoreAs(storage, { ...storage, prefix: `${storage.prefix}${FOLDER}/` }))

function inDirectory(root: string): ArchiveFiles {
  const fileOf = (id: string) => join(root, nameOf(id))
  const temporaryOf = (id: string) => join(root, `.${nameOf(id)}.tmp`)
  return {
    async put(id, bytes) {
      await storingIn(root, bytes.length, async () => {
        if (await mkdir(root, { recursive: true, mode: 0o700 })) await syncDirectory(dirname(root))
        await writeDurably(temporaryOf(id), bytes)
        await rename(temporaryOf(id), fileOf(id))
        await syncDirectory(root)
      })
    },
    read: (id) => readFile(fileOf(id)).catch(ifMissing),
    async remove(id) {
      for (const file of [temporaryOf(id), fileOf(id)]) await rm(file, { force: true })
    },
  }
}

function inBucket(storage: Extract<Storage, { kind: 's3' }>): ArchiveFiles {
  const bucket = s3Bucket(storage)
  return {
    async put(id, bytes) {
      // No other file has the ID: a put whose answer was lost may be repeated.
      const facts = { bytes: bytes.length, sha256: sha256Of(bytes).digest('base64'), replaces: ANYTHING }
      if (!(await bucket.objects.put(nameOf(id), bytes, facts, {})))
        throw new Error(
          `The bucket "${storage.bucket}" refuses a file of the archive (409): the next pass tries again.`,
        )
    },
    read: (id) => bucket.read(nameOf(id)),
    remove: (id) => bucket.remove(nameOf(id)),
  }
}
