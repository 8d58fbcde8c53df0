import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/process/config.js'
import { givenFiles, givenImages } from '../support/given-images.js'
import { givenUser } from '../support/givens.js'
import { unzipped } from '../support/unzip.js'
import { useEasel } from './easel.js'

const easel = useEasel()
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'easel-export-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('user export', () => {
  it('writes rows and images into a file that nobody else may read', async () => {
    const user = await givenUser(easel.db)
    // More than a page of each.
    const slugs = await givenImages(easel.db, user, Array(401).fill({ prompt: 'a fox' }))
    await givenFiles(parseConfig(easel.env), slugs.slice(0, 3))
    const other = await givenUser(easel.db)
    await givenImages(easel.db, other, [{ prompt: 'somebody else’s' }])
    const output = join(folder, 'whole.zip')
    const told = await easel.json(`user export ${user.username} --output ${output}`)
    expect(told).toEqual({ username: user.username, file: output, bytes: (await stat(output)).size })
    expect((await stat(output)).mode & 0o777).toBe(0o600)
    const files = unzipped(await readFile(output))
    const rows = (name: string) => JSON.parse(String(files.get(`${name}.json`)))
    expect(rows('account')).toMatchObject([{ id: user.id, username: user.username, credits: 100 }])
    expect(rows('generations').map((it: { images: { slug: string }[] }) => it.images[0]?.slug)).toEqual(slugs.reverse())
    expect(rows('credits')).toMatchObject([{ kind: 'grant', delta: 100 }])
    expect(String(files.get('README.txt'))).toContain(`held on the account ${user.username}`)
    expect([...files.keys()].filter((name) => name.startsWith('images/'))).toHaveLength(3)
    expect(String(files.get('missing.txt')).trim().split('\n')).toHaveLength(398)
    expect([...files.values()].some((file) => file.includes('somebody else’s'))).toBe(false)
  })

  it('overwrites nothing, and leaves nothing behind when it fails', async () => {
    const user = await givenUser(easel.db)
    const output = join(folder, 'once.zip')
    await easel.json(`user export ${user.username} --output ${output}`)
    expect(await easel.error(`user export ${user.username} --output ${output}`)).toBe(
      `${output} is there already: name another file with --output.`,
    )
    const second = join(folder, 'second.zip')
    const name = `export:${user.id}`
    await easel.db.pool.query(`INSERT INTO leases VALUES ($1, 'somebody', now() + interval '1 hour')`, [name])
    expect(await easel.error(`user export ${user.username} --output ${second}`)).toMatch(/^Another export/)
    await expect(stat(second)).rejects.toThrow()
    await easel.db.pool.query('DELETE FROM leases WHERE name = $1', [name])
    await easel.json(`user export ${user.username} --output ${second}`)
    expect(await easel.error('user export nobody')).toMatch(/^No user "nobody"/)
  })
})
