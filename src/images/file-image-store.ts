import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, opendir, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { IMAGE_FILE } from '../generation/generation.js'
import { type AnyImageStore, EXTENSIONS, type Extension, fileName, publicUrls, sha256Of } from './any-image-store.js'

/** Group reads, too: a web server in front may serve the directory. A stricter umask is respected. */
const FILE_MODE = 0o640
/** Temporary files begin with a dot, so that file servers that skip dot files never show a half-written image. */
export const TEMPORARY_FILE = /^\.[0-9A-Za-z]+\.[0-9a-f]{16}\.tmp$/

/** No link is followed, and no pipe waited for. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** More than any image takes, so that a disk with room for a few bytes does not pass. */
const PROBE_BYTES = 16 * 1024 * 1024

/** Names read from the directory at a time. */
const PAGE = 1000

/**
 * Images as files `<root>/<slug>.png`, and their thumbnails as `<root>/<slug>.webp`; `root` is an absolute path,
 * `cdnBaseUrl` has no slash at its end. The directory is flat, so that the path below the CDN's prefix is the path below
 * the root and any file server can serve it; today's file systems look up names in large directories quickly. Makes
 * nothing before the first put, not even the directory.
 */
export function fileImageStore({ root, cdnBaseUrl }: { root: string; cdnBaseUrl: string }): AnyImageStore {
  const fileOf = (slug: string, extension?: Extension) => join(root, fileName(slug, extension))

  const changedAt = async (slug: string) => {
    const times = EXTENSIONS.map((it) => stat(fileOf(slug, it)).then((found) => found.mtime, ifMissing))
    return (await Promise.all(times)).find((time) => time !== undefined)
  }

  return {
    async put(slug, png, { isWanted = async () => true, thumbnail } = {}) {
      // The image last: where it is, so is its thumbnail.
      const files = [
        ...(thumbnail ? [{ file: fileOf(slug, 'webp'), bytes: thumbnail }] : []),
        { file: fileOf(slug), bytes: png },
      ].map((it) => ({ ...it, temporary: join(root, `.${slug}.${randomBytes(8).toString('hex')}.tmp`) }))
      const discard = () => Promise.all(files.map(({ temporary }) => rm(temporary, { force: true })))
      try {
        const written = await Promise.allSettled(files.map(({ temporary, bytes }) => writeDurably(temporary, bytes)))
        for (const it of written) if (it.status === 'rejected') throw it.reason
        if (!(await isWanted())) {
          await discard()
          return false
        }
        for (const { temporary, file } of files) await rename(temporary, file)
      } catch (error) {
        await discard().catch(() => undefined) // the first failure is the one to tell
        throw error
      }
      await syncDirectory(root)
      for (const { file, bytes } of files) {
        const { size } = await stat(file)
        if (size !== bytes.length) throw new Error(`${file} holds ${size} bytes instead of ${bytes.length}`)
      }
      return true
    },

    async remove(slug) {
      const removed = EXTENSIONS.map((extension) => unlink(fileOf(slug, extension)).then(() => true, ifMissing))
      if ((await Promise.all(removed)).includes(true)) await syncDirectory(root)
    },

    check: () => probeDirectory(root, PROBE_BYTES),

    read: async (slug) => readImage(fileOf(slug)),
    readThumbnail: async (slug) => readImage(fileOf(slug, 'webp')),

    async sha256(slug, extension) {
      const bytes = await readImage(fileOf(slug, extension))
      return bytes && sha256Of(bytes).digest('hex')
    },

    changedAt,
    exists: async (slug) => (await changedAt(slug)) !== undefined,

    async *all() {
      const directory = await opendir(root, { bufferSize: PAGE }).catch(ifMissing)
      let page: string[] = []
      for await (const { name } of directory ?? []) {
        const slug = IMAGE_FILE.exec(name)?.[1]
        if (!slug || page.push(slug) < PAGE) continue
        yield page
        page = []
      }
      if (page.length > 0) yield page
    },

    // The directory's own server would follow a symbolic link.
    async open({ name }) {
      const found = await lstat(join(root, name)).catch(ifMissing)
      if (found) return found.isFile() ? { directory: root } : undefined
      // Images are permanent: where the whole directory is missing, "not found" would be wrong.
      if (!(await lstat(root)).isDirectory()) throw new Error(`${root} is no directory`)
      return undefined
    },

    ...publicUrls(cdnBaseUrl),
  }
}

async function readImage(file: string): Promise<Buffer | undefined> {
  const handle = await open(file, READ).catch(ifMissing)
  if (!handle) return undefined
  return closing(handle, async () => ((await handle.stat()).isFile() ? await handle.readFile() : undefined))
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
