import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ImageTooLarge } from '../../src/core/images/ports.js'
import type { AnyImageStore } from '../../src/images/any-image-store.js'
import { createImageStore, openImageStore } from '../../src/images/open-image-store.js'
import { givenFileError } from '../support/broken-files.js'
import { noLog } from '../support/fake-ports.js'
import { compiled } from '../support/services.js'
import { until } from '../support/until.js'

const run = promisify(execFile)
const configOf = (path: string) => ({ storage: { kind: 'file', path } as const, cdnBaseUrl: 'https://cdn.example' })
const slug = 'AbCdEfGhIjKlMnOpQrSt09'
const png = Buffer.from('the bytes of an image')

let directory: string
let root: string
let store: AnyImageStore

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-images-'))
  root = join(directory, 'not', 'there', 'yet')
  store = await createImageStore(configOf(root))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

describe('the file store', () => {
  it('creates its directory and leaves nothing in it', async () => {
    expect(await readdir(root)).toEqual([])
  })

  it('stores an image under its slug, readable by owner and group only, and nothing beside it', async () => {
    await store.put(slug, png)
    expect(await readdir(root)).toEqual([`${slug}.png`])
    expect(await readFile(join(root, `${slug}.png`))).toEqual(png)
    expect((await stat(join(root, `${slug}.png`))).mode & 0o777).toBe(0o640 & ~process.umask())
  })

  it('replaces a symbolic link instead of following it', async () => {
    await writeFile(join(directory, 'outside'), 'untouched')
    await symlink(join(directory, 'outside'), join(root, `${slug}.png`))
    await expect(store.read(slug)).rejects.toThrow('ELOOP')
    await store.put(slug, png)
    expect(await readFile(join(directory, 'outside'), 'utf8')).toBe('untouched')
    expect(await store.read(slug)).toEqual(png)
  })

  it.runIf(process.getuid?.() === 0)(
    'gives an image the group of its directory where the directory has the setgid bit',
    async () => {
      await chown(root, 0, 33)
      await chmod(root, 0o2750)
      await store.put(slug, png)
      const { gid, mode } = await stat(join(root, `${slug}.png`))
      expect([gid, mode & 0o777]).toEqual([33, 0o640])
    },
  )

  it('does not wait for a pipe in place of an image', async () => {
    await run('mkfifo', [join(root, `${slug}.png`)])
    expect(await store.read(slug)).toBeUndefined()
  })

  it('rejects and cleans up when the file system refuses', async () => {
    await mkdir(join(root, `${slug}.png`)) // a directory in the way fails the rename, after all bytes are written
    await expect(store.put(slug, png)).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
    expect(await readdir(root)).toEqual([`${slug}.png`])
  })

  it('rejects when its directory has vanished', async () => {
    await rm(root, { recursive: true })
    await expect(store.put(slug, png)).rejects.toThrow('ENOENT')
  })

  it('rejects and cleans up when the disk takes only the beginning', async () => {
    // A limit on file sizes stands for the full disk: the write fails half-way. The shell must not let its signal kill.
    const script = `
      import { createImageStore } from '${await compiled('src/images/open-image-store.ts')}'
      const store = await createImageStore({ storage: { kind: 'file', path: process.argv[1] }, cdnBaseUrl: '' })
      await store.put('${slug}', Buffer.alloc(100_000)).catch((error) => console.log(error.message))`
    const limited = `trap '' XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1" "$2"`
    const { stdout } = await run('bash', ['-c', limited, process.execPath, script, root])
    expect(stdout).toBe(
      `${root} takes no file of 100000 bytes (EFBIG), so such images fail: raise the limit on the size of files there, or that of this process (ulimit -f).\n`,
    )
    expect(await readdir(root)).toEqual([])
  })
})

describe('a file system', () => {
  const lacks = (code: string) => ({
    problem: undefined,
    missing: `The file system of ${root} can't sync all that it stores (${code}): after a power cut the newest images may be missing.`,
  })

  it.each(['EINVAL', 'EIO', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EISDIR', 'EACCES', 'EPERM', 'EBADF'])(
    'is used if it can sync no directory, and that is told: %s',
    async (code) => {
      await givenFileError(code, 'sync', 'directory')
      expect(await store.put(slug, png)).toBe(true)
      expect(await store.check()).toEqual(lacks(code))
      await store.remove(slug)
      expect(await readdir(root)).toEqual([])
    },
  )

  it.each(['EINVAL', 'ENOTSUP', 'ENOSYS'])('is used if it can sync nothing, and that is told: %s', async (code) => {
    await givenFileError(code, 'sync', 'file')
    expect(await store.put(slug, png)).toBe(true)
    expect(await store.check()).toEqual(lacks(code))
  })

  it('is not used if it can sync neither a directory nor a file for an error of its disk', async () => {
    await givenFileError('EIO', 'sync', 'both')
    const sentence = `Images can't be stored in ${root}; its disk or mount is broken: look into the log of the system (EIO`
    await expect(store.put(slug, png)).rejects.toThrow(sentence)
    await expect(store.check()).rejects.toThrow(sentence)
    expect(await readdir(root)).toEqual([])
  })

  it.each([
    ['ENOSPC', 'make room on its disk'],
    ['EDQUOT', 'make room, or raise the quota of this user there'],
    ['EROFS', 'its disk is mounted read-only, often after an error: mount it for writing'],
    ['ESTALE', 'what was mounted there is away: mount it again, and restart the containers that have it'],
    ['ENOTCONN', 'what was mounted there is away: mount it again, and restart the containers that have it'],
    ['EMFILE', 'too many files are open: raise the limit (ulimit -n, or LimitNOFILE in systemd)'],
    [
      'EACCES',
      `let user ${process.getuid?.()} write there (a mount into a container needs :z where SELinux is on) or change STORAGE_URL`,
    ],
    ['EISDIR', 'make it a writable directory or change STORAGE_URL'],
  ])('that refuses is named, with what to do: %s', async (code, advice) => {
    await givenFileError(code, 'writeFile', 'file')
    for (const work of [() => store.put(slug, png), store.check])
      await expect(work()).rejects.toThrow(`Images can't be stored in ${root}; ${advice} (${code}: not today, write).`)
    expect(await readdir(root)).toEqual([])
  })

  it('that takes no large files is used for small ones, and that is told', async () => {
    const { mend } = await givenFileError('EFBIG', 'writeFile', 'file')
    await expect(store.put(slug, png)).rejects.toBeInstanceOf(ImageTooLarge)
    mend()
    expect(await store.check()).toEqual({})
  })
})

describe('opening the file store', () => {
  it('says in one sentence that the directory can not be created', async () => {
    await writeFile(join(directory, 'file'), '')
    const storagePath = join(directory, 'file', 'images')
    await expect(createImageStore(configOf(storagePath))).rejects.toThrow(
      `Images can't be stored in ${storagePath}; make it a writable directory or change STORAGE_URL`,
    )
  })

  it.skipIf(process.getuid?.() === 0)('says so when the directory can not be written', async () => {
    await chmod(root, 0o500)
    await expect(createImageStore(configOf(root))).rejects.toThrow("can't be stored")
  })

  it('refuses a directory to which everybody may write, and accepts one to which its group may', async () => {
    await chmod(root, 0o2770)
    await createImageStore(configOf(root))
    await chmod(root, 0o777)
    const opened = openImageStore(configOf(root), noLog)
    await expect(opened).rejects.toThrow(`Other users may write to ${root}`)
  })

  it('accepts what everybody may write where its mount has no modes, if it is told so', async () => {
    await chmod(root, 0o777)
    await expect(createImageStore(configOf(root))).rejects.toThrow(
      'If its mount knows no owners and modes, set STORAGE_ANY_OWNER=true.',
    )
    await createImageStore({ ...configOf(root), storageAnyOwner: true })
  })

  it.runIf(process.getuid?.() === 0)('accepts the directory of another user whose group it may write by', async () => {
    await chown(root, 12345, 0)
    for (const mode of [0o770, 0o2775]) {
      await chmod(root, mode)
      await createImageStore(configOf(root))
    }
    await chmod(root, 0o755)
    await expect(createImageStore(configOf(root))).rejects.toThrow('belongs to another user (uid 12345)')
  })

  it('removes, in the background, half-written files that a killed process left an hour ago, and nothing else', async () => {
    const [old, fresh] = [`.${slug}.0123456789abcdef.tmp`, `.${slug}.fedcba9876543210.tmp`]
    const anHourAgo = new Date(Date.now() - 3_700_000)
    for (const name of [old, fresh, `${slug}.png`, 'notes.txt']) await writeFile(join(root, name), 'x')
    for (const name of [old, `${slug}.png`, 'notes.txt']) await utimes(join(root, name), anHourAgo, anHourAgo)
    // What only opens it, as the command line does, looks through nothing.
    await createImageStore(configOf(root))
    expect(await readdir(root)).toHaveLength(4)
    await openImageStore(configOf(root), noLog)
    await until(async () => (await readdir(root)).length === 3, 'the end of the old one')
    expect((await readdir(root)).sort()).toEqual([fresh, `${slug}.png`, 'notes.txt'])
  })
})
