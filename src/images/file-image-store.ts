import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { SLUG } from '../generation/generation.js'
import type { ImageFiles, ImageStore } from '../generation/shared-ports.js'

/** Group reads, too: a web server in front may serve the directory. A stricter umask is respected. */
const FILE_MODE = 0o640
/** Temporary files begin with a dot, so that file servers that skip dot files never show a half-written image. */
export const TEMPORARY_FILE = /^\.[0-9A-Za-z]+\.[0-9a-f]{16}\.tmp$/

/** No link is followed, and no pipe waited for. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** More than any image takes, so that a disk with room for a few bytes does not pass. */
const PROBE_BYTES = 16 * 1024 * 1024

export type FileImageStore = ImageStore & Pick<ImageFiles, 'read'>

/**
 * Images as files `<root>/<slug>.png`; `root` is an absolute path, `cdnBaseUrl` has no slash at its end. The directory
 * is flat, so that the path below the CDN's prefix is the path below the root and any file server can serve it; today's
 * file systems look up names in large directories quickly. Every method throws on a slug that isn't one; what the file
 * system refuses (disk full, permissions) rejects.
 */
export function fileImageStore({ root, cdnBaseUrl }: { root: string; cdnBaseUrl: string }): FileImageStore {
  // The only place where a slug becomes a path: its 22 letters and digits can't leave the root.
  const fileOf = (slug: string) => join(root, `${requireSlug(slug)}.png`)

  return {
    async put(slug, png, isWanted = async () => true) {
      const file = fileOf(slug)
      const temporary = join(root, `.${slug}.${randomBytes(8).toString('hex')}.tmp`)
      try {
        await writeDurably(temporary, png)
        if (!(await isWanted())) {
          await rm(temporary, { force: true })
          return false
        }
        await rename(temporary, file)
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => undefined) // the first failure is the one to tell
        throw error
      }
      await syncDirectory(root)
      const { size } = await stat(file)
      if (size !== png.length) throw new Error(`${file} holds ${size} bytes instead of ${png.length}`)
      return true
    },

    async remove(slug) {
      const removed = await unlink(fileOf(slug)).then(() => true, ifMissing)
      if (removed) await syncDirectory(root)
    },

    check: () => probeDirectory(root, PROBE_BYTES),

    async read(slug) {
      const handle = await open(fileOf(slug), READ).catch(ifMissing)
      if (!handle) return undefined
      return closing(handle, async () => ((await handle.stat()).isFile() ? await handle.readFile() : undefined))
    },

    url: (slug) => `${cdnBaseUrl}/${requireSlug(slug)}.png`,
  }
}

function requireSlug(slug: string): string {
  if (!SLUG.test(slug)) throw new Error(`${JSON.stringify(slug)} is no image slug`)
  return slug
}

const writeDurably = async (path: string, bytes: Buffer) =>
  closing(await open(path, 'wx', FILE_MODE), async (handle) => {
    await handle.writeFile(bytes)
    await handle.sync()
  })

/** Writes a file and removes it: permission bits don't tell of read-only mounts and full disks. */
export async function probeDirectory(root: string, bytes: number): Promise<void> {
  const probe = join(root, `.probe.${randomBytes(8).toString('hex')}.tmp`)
  try {
    await writeDurably(probe, Buffer.alloc(bytes))
  } finally {
    await rm(probe, { force: true })
  }
}

export function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

/** A rename or a removal outlives a power cut only once the directory itself is on disk. */
const syncDirectory = async (directory: string) => closing(await open(directory, 'r'), (handle) => handle.sync())

async function closing<T>(handle: FileHandle, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await use(handle)
  } finally {
    await handle.close()
  }
}
