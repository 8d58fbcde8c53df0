import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AnyImageStore } from '../../src/images/any-image-store.js'
import { createImageStore, openImageStore } from '../../src/images/open-image-store.js'
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
      await store.put('${slug}', Buffer.alloc(100_000)).catch((error) => console.log(error.code))`
    const limited = `trap '' XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1" "$2"`
    const { stdout } = await run('bash', ['-c', limited, process.execPath, script, root])
    expect(stdout).toBe('EFBIG\n')
    expect(await readdir(root)).toEqual([])
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
    const opened = openImageStore(configOf(root), () => undefined)
    await expect(opened).rejects.toThrow(`Other users may write to ${root}`)
  })

  it('removes, in the background, half-written files that a killed process left an hour ago, and nothing else', async () => {
    const [old, fresh] = [`.${slug}.0123456789abcdef.tmp`, `.${slug}.fedcba9876543210.tmp`]
    const anHourAgo = new Date(Date.now() - 3_700_000)
    for (const name of [old, fresh, `${slug}.png`, 'notes.txt']) await writeFile(join(root, name), 'x')
    for (const name of [old, `${slug}.png`, 'notes.txt']) await utimes(join(root, name), anHourAgo, anHourAgo)
    // What only opens it, as the command line does, looks through nothing.
    await createImageStore(configOf(root))
    expect(await readdir(root)).toHaveLength(4)
    await openImageStore(configOf(root), () => undefined)
    await until(async () => (await readdir(root)).length === 3, 'the end of the old one')
    expect((await readdir(root)).sort()).toEqual([fresh, `${slug}.png`, 'notes.txt'])
  })
})
