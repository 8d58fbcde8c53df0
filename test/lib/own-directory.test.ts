import { chmod, chown, lchown, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ForeignDirectory, requireOwn } from '../../src/lib/own-directory.js'

const isRoot = process.getuid?.() === 0
const STRANGER = 12345
let parent: string
let directory: string

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'easel-own-'))
  directory = join(parent, 'kept')
  await mkdir(directory, { mode: 0o700 })
})
afterEach(() => rm(parent, { recursive: true }))

describe('a directory to keep things in', () => {
  it('may be our own or a symbolic link of ours to it', async () => {
    await symlink(directory, join(parent, 'link'))
    await requireOwn(directory)
    await requireOwn(join(parent, 'link'))
  })

  it.each([0o777, 0o1777, 0o770])('is refused if others may write to it: mode %o', async (mode) => {
    await chmod(directory, mode)
    await expect(requireOwn(directory)).rejects.toThrow(
      `Other users may write to ${directory}: remove what is not yours there, then run "chmod go-w ${directory}".`,
    )
  })

  it.runIf(isRoot)('is refused if another user owns it or the link to it', async () => {
    await symlink(directory, join(parent, 'link'))
    await lchown(join(parent, 'link'), STRANGER, STRANGER)
    await expect(requireOwn(join(parent, 'link'))).rejects.toThrow(ForeignDirectory)
    await chown(directory, STRANGER, STRANGER)
    await expect(requireOwn(directory)).rejects.toThrow(
      `${directory} belongs to another user (uid ${STRANGER}): run as that user, or use another directory.`,
    )
  })

  describe('of another user', () => {
    const trust = { writers: 0o002, ofGroup: true }
    const own = [0, ...(process.getgroups?.() ?? [])]

    it.runIf(isRoot).each(own.map((gid) => [gid]))('may be written by group %i, which is ours', async (gid) => {
      await chown(directory, STRANGER, gid)
      await chmod(directory, 0o2770)
      await requireOwn(directory, trust)
      await expect(requireOwn(directory)).rejects.toThrow(ForeignDirectory)
    })

    it.runIf(isRoot)('is refused if its group may not write, is not ours, or everybody may write', async () => {
      const refused = () => expect(requireOwn(directory, trust)).rejects.toThrow(ForeignDirectory)
      await chown(directory, STRANGER, 0)
      await chmod(directory, 0o755)
      await refused()
      await chmod(directory, 0o777)
      await refused()
      await chown(directory, STRANGER, STRANGER)
      await chmod(directory, 0o770)
      await refused()
    })

    it.runIf(isRoot)('is refused behind a link of that user, who may point it elsewhere', async () => {
      await chmod(directory, 0o770)
      await symlink(directory, join(parent, 'link'))
      await lchown(join(parent, 'link'), STRANGER, 0)
      await expect(requireOwn(join(parent, 'link'), trust)).rejects.toThrow(ForeignDirectory)
    })
  })
})
