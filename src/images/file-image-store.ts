import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, opendir, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { IMAGE_FILE, ImageTooLarge, type StoreLacks } from '../core/images/ports.js'
import { FileUnreadable } from '../core/images/read-each.js'
import { reasonOf } from '../lib/causes.js'
import { ForeignDirectory } from '../lib/own-directory.js'
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
const FILES_PER_PAGE = 1000

interface FileStoreOptions {
  readonly root: string
  /** The directory without which nothing is known of a file; `root`, unless that is made with its first file. */
  readonly within?: string | undefined
  readonly cdnBaseUrl: string
  readonly probeBytes?: number | undefined
}

/**
 * Images as files `<root>/<slug>.png`, and their thumbnails as `<root>/<slug>.webp`; `root` is an absolute path,
 * `cdnBaseUrl` has no slash at its end. The directory is flat, so that the path below the CDN's prefix is the path below
 * the root and any file server can serve it; today's file systems look up names in large directories quickly. Makes
 * nothing before the first put, not even the directory.
 */
export function fileImageStore({
  root,
  within = root,
  cdnBaseUrl,
  probeBytes = PROBE_BYTES,
}: FileStoreOptions): AnyImageStore {
  const fileOf = (slug: string, extension?: Extension) => join(root, fileName(slug, extension))

  const changedAt = async (slug: string) => {
    const times = EXTENSIONS.map((it) => stat(fileOf(slug, it)).then((found) => found.mtime, ifMissing))
    return (await Promise.all(times)).find((time) => time !== undefined)
  }

  const syncRoot = () => syncDirectory(root)

  return {
    async put(slug, png, { isWanted = async () => true, thumbnail } = {}) {
      // The image last: where it is, so is its thumbnail.
      const files = [
        ...(thumbnail ? [{ file: fileOf(slug, 'webp'), bytes: thumbnail }] : []),
        { file: fileOf(slug), bytes: png },
      ].map((it) => ({ ...it, temporary: newTemporary(root, slug) }))
      const discard = () => Promise.all(files.map(({ temporary }) => rm(temporary, { force: true })))
      try {
        await storingIn(root, png.length, async () => {
          const written = await Promise.allSettled(files.map(({ temporary, bytes }) => writeDurably(temporary, bytes)))
          for (const it of written) if (it.status === 'rejected') throw it.reason
        })
        if (!(await isWanted())) {
          await discard()
          return false
        }
        await storingIn(root, png.length, async () => {
          for (const { temporary, file } of files) await rename(temporary, file)
          await syncRoot()
          for (const { file, bytes } of files) {
            const { size } = await stat(file)
            if (size !== bytes.length) throw new Error(`${file} holds ${size} bytes instead of ${bytes.length}`)
          }
        })
        return true
      } catch (error) {
        await discard().catch(() => undefined) // the first failure is the one to tell
        throw error
      }
    },

    async remove(slug) {
      const removed = EXTENSIONS.map((extension) => unlink(fileOf(slug, extension)).then(() => true, ifMissing))
      if ((await Promise.all(removed)).includes(true)) await syncRoot()
    },

    async check(): Promise<StoreLacks> {
      const probe = (bytes: number) =>
        storingIn(root, bytes, () => withProbe(root, bytes, async (noSync) => noSync ?? (await syncRoot())))
      let problem: string | undefined
      const noSync = await probe(probeBytes).catch((error) => {
        if (!(error instanceof ImageTooLarge)) throw error
        problem = error.message
        return probe(1)
      })
      const missing = `The file system of ${root} can't sync all that it stores (${noSync}): after a power cut the newest images may be missing.`
      return { problem, missing: noSync && missing }
    },

    read: async (slug) => readImage(fileOf(slug)),
    readThumbnail: async (slug) => readImage(fileOf(slug, 'webp')),

    async sha256(slug, extension) {
      const bytes = await readImage(fileOf(slug, extension))
      return bytes && sha256Of(bytes).digest('hex')
    },

    changedAt,
    exists: async (slug) => (await changedAt(slug)) !== undefined,

    async *all() {
      const directory = await opendir(root, { bufferSize: FILES_PER_PAGE }).catch(ifMissing)
      let page: string[] = []
      for await (const { name } of directory ?? []) {
        const slug = IMAGE_FILE.exec(name)?.[1]
        if (!slug || page.push(slug) < FILES_PER_PAGE) continue
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
      if (!(await lstat(within)).isDirectory()) throw new Error(`${within} is no directory`)
      return undefined
    },

    ...publicUrls(cdnBaseUrl),
  }
}

/** Of one file: a broken sector, or a link in its place. */
const UNREADABLE = new Set(['EIO', 'ELOOP'])

async function readImage(file: string): Promise<Buffer | undefined> {
  try {
    const handle = await open(file, READ).catch(ifMissing)
    if (!handle) return undefined
    return await closing(handle, async () => ((await handle.stat()).isFile() ? await handle.readFile() : undefined))
  } catch (cause) {
    if (!UNREADABLE.has(codeOf(cause))) throw cause
    throw new FileUnreadable(`${file} can't be read (${codeOf(cause)}): put it back from a backup.`, codeOf(cause), {
      cause,
    })
  }
}

/** Resolves to why the file can't be made durable on this file system, if so. */
export const writeDurably = async (path: string, bytes: Buffer): Promise<string | undefined> =>
  closing(await open(path, 'wx', FILE_MODE), async (handle) => {
    await handle.writeFile(bytes)
    return handle.sync().then(
      () => undefined,
      (error) => ifOneOf(NO_SYNC, error),
    )
  })

/**
 * A rename or a removal outlives a power cut only once the directory itself is on disk. Resolves to why it can't be, on this file
 * system.
 */
export async function syncDirectory(root: string): Promise<string | undefined> {
  try {
    await closing(await open(root, 'r'), (handle) => handle.sync())
    return undefined
  } catch (error) {
    if (codeOf(error) !== 'EIO') return ifOneOf(NO_DIRECTORY_SYNC, error)
    // Where a disk is broken, a file can't be synced either. Else it is a mount that knows no other answer.
    await withProbe(root, 1, async () => undefined)
    return 'EIO'
  }
}

/**
 * Writes a file and removes it: permission bits don't tell of read-only mounts and full disks.
 * @throws Error with a sentence for the operator
 */
export const probeDirectory = (root: string): Promise<void> =>
  storingIn(root, 0, () => withProbe(root, 0, async () => undefined))

/** @param use gets why the file can't be made durable, if so */
async function withProbe<T>(root: string, bytes: number, use: (noSync: string | undefined) => Promise<T>): Promise<T> {
  const [probe, renamed] = [newTemporary(root, 'probe'), newTemporary(root, 'probe')]
  try {
    const noSync = await writeDurably(probe, Buffer.alloc(bytes))
    await rename(probe, renamed)
    const { size } = await stat(renamed)
    if (size !== bytes) throw new Error(`${renamed} holds ${size} bytes instead of ${bytes}`)
    return await use(noSync)
  } finally {
    await Promise.all([probe, renamed].map((path) => rm(path, { force: true })))
  }
}

const newTemporary = (root: string, name: string) => join(root, `.${name}.${randomBytes(8).toString('hex')}.tmp`)

/** What file systems answer that can't sync, as some network and user-space ones do. */
const NO_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])
/** Of a directory, which some can't even open for it. */
const NO_DIRECTORY_SYNC = new Set([...NO_SYNC, 'EISDIR', 'EACCES', 'EPERM', 'EBADF'])

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

function ifOneOf(codes: ReadonlySet<string>, error: unknown): string {
  if (!codes.has(codeOf(error))) throw error
  return codeOf(error)
}

/** By the codes of the error; of no other one the reason is known. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^ENOSPC$/, 'make room on its disk'],
  [/^EDQUOT$/, 'make room, or raise the quota of this user there'],
  [/^EROFS$/, 'its disk is mounted read-only, often after an error: mount it for writing'],
  [/^EIO$/, 'its disk or mount is broken: look into the log of the system'],
  [
    /^(ESTALE|ENOTCONN|ECONNABORTED|EHOSTDOWN|ETIMEDOUT|EREMOTEIO)$/,
    'what was mounted there is away: mount it again, and restart the containers that have it',
  ],
  [/^E[MN]FILE$/, 'too many files are open: raise the limit (ulimit -n, or LimitNOFILE in systemd)'],
  [
    /^(EACCES|EPERM)$/,
    `let user ${process.getuid?.() ?? 'of this process'} write there (a mount into a container needs :z where SELinux is on) or change STORAGE_URL`,
  ],
]

/** Names the directory and what to do in an error that file systems throw without. @param bytes of the image */
export async function storingIn<T>(root: string, bytes: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ForeignDirectory) throw error
    const [code, reason] = [codeOf(error), reasonOf(error)]
    if (code === 'EFBIG')
      throw new ImageTooLarge(
        `${root} takes no file of ${bytes} bytes (EFBIG), so such images fail: raise the limit on the size of files there, or that of this process (ulimit -f).`,
      )
    const advice =
      ADVICE.find(([codes]) => codes.test(code))?.[1] ?? 'make it a writable directory or change STORAGE_URL'
    throw new Error(`Images can't be stored in ${root}; ${advice} (${reason}).`, { cause: error })
  }
}

export function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

async function closing<T>(handle: FileHandle, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await use(handle)
  } finally {
    await handle.close()
  }
}
