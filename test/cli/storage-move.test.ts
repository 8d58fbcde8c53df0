import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startImageMoves } from '../../src/core/images/privacy.js'
import { imageMoves } from '../../src/db/images/privacy.js'
import type { AnyImageStore } from '../../src/images/any-image-store.js'
import { imageStore } from '../../src/images/open-image-store.js'
import { parseConfig } from '../../src/process/config.js'
import { wholeImageStore } from '../../src/process/image-files.js'
import { archive } from '../support/archived.js'
import { givenUser } from '../support/givens.js'
import { age, move as moveToMonth } from '../support/moved-to-months.js'
import { type S3Server, startS3 } from '../support/s3-server.js'
import { until } from '../support/until.js'
import { useEasel } from './easel.js'
import { givenSucceeded } from './given-images.js'
import { COPIED, COPIED_AT_MOST, killMove } from './killed-move.js'

const easel = useEasel({ each: true })
const NO_FILES = { copied: 0, present: 0, missing: 0, failed: 0 }
const NOTHING = {
  ...{ copied: 0, present: 0, removed: 0, missing: 0, different: 0, failed: 0 },
  ...{ examples: [], archive: NO_FILES },
}

let directory: string
let s3: S3Server
let buckets = 0
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-move-'))
  s3 = await startS3(directory)
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true })
})

let from: string
let to: string
/** The variables of servers and workers that know both stores. */
let both: Record<string, string>
let newer: AnyImageStore
beforeEach(async () => {
  const bucket = await s3.env(`easel-${++buckets}`)
  from = easel.env.STORAGE_URL as string
  to = bucket.STORAGE_URL as string
  both = { ...easel.env, ...bucket, STORAGE_OLD_URL: from }
  newer = imageStore(parseConfig({ ...easel.env, ...bucket }))
})
afterEach(() => {
  s3.fault = undefined
})

/** Images in the directory. @returns their slugs */
async function given(count: number): Promise<string[]> {
  const users = await Promise.all(Array.from({ length: count }, () => givenUser(easel.db)))
  const generations = await Promise.all(users.map((user) => givenSucceeded(easel, user)))
  return generations.map(({ slugs }) => slugs[0] as string)
}

async function move() {
  const { code, stdout } = await easel.run(`storage move ${from} ${to} --json`, both)
  return { code, moved: JSON.parse(stdout) }
}

describe('storage move', () => {
  it('refuses to begin before servers and workers are told of both stores', async () => {
    // It would lose what they remove or make meanwhile.
    expect(await easel.error(`storage move ${from} ${to}`)).toBe(
      `First set STORAGE_URL=${to} and STORAGE_OLD_URL=${from}, here too, and restart all servers, then all workers.`,
    )
  })

  it('copies only the rest when it is repeated after it was killed', async () => {
    const slugs = await given(18)
    await killMove(s3, both, [from, to], newer)
    const { moved } = await move()
    expect(moved).toEqual({ ...NOTHING, copied: moved.copied, present: 18 - moved.copied })
    expect(moved.present).toBeGreaterThanOrEqual(COPIED)
    expect(moved.present).toBeLessThanOrEqual(COPIED_AT_MOST)
    for (const slug of slugs)
      expect([await newer.exists(slug), await newer.readThumbnail(slug)]).not.toContain(undefined)
    expect(await move()).toEqual({ code: 0, moved: { ...NOTHING, present: 18 } })
  })

  it('leaves no copy of an image that is removed while it is copied', async () => {
    const [removed, kept] = (await given(2)) as [string, string]
    s3.fault = async ({ method, url }): Promise<'pass'> => {
      if (method !== 'PUT' || !url?.includes(`${removed}.png`)) return 'pass'
      s3.fault = undefined
      expect((await easel.run(`images remove ${removed}`, both)).code).toBe(0)
      return 'pass'
    }
    expect(await move()).toEqual({ code: 0, moved: { ...NOTHING, copied: 1, removed: 1 } })
    expect([await newer.exists(removed), await newer.exists(kept)]).toEqual([false, true])
  })

  it('copies the files of the archive, and the images that these name', async () => {
    const [slug] = (await given(2)) as [string, string]
    await age(easel.db, 500)
    await moveToMonth(easel.db)
    await archive(easel)
    expect(await move()).toEqual({
      code: 0,
      // What was archived a moment ago is looked at twice.
      moved: { ...NOTHING, copied: 2, present: 2, archive: { ...NO_FILES, copied: 2 } },
    })
    expect(await newer.exists(slug)).toBe(true)
    // The second look finds what the first one stored.
    expect((await move()).moved).toMatchObject({ archive: { ...NO_FILES, present: 2 } })
    await rm(join(easel.storage, 'archive'), { recursive: true })
    const env = { ...both, STORAGE_OLD_URL: '' }
    expect(JSON.parse((await easel.run(`archive bring-back ${slug} --json`, env)).stdout)).toEqual({ generations: 1 })
    expect((await easel.run(`archive show ${slug}`, env)).code).toBe(1)
  })

  it('copies private images to where nobody else reads them, and never to a public place', async () => {
    const { db } = easel
    const [hidden, shown, changed] = (await given(3)) as [string, string, string]
    const old = wholeImageStore(parseConfig(easel.env), db)
    const hide = async (slug: string) => {
      await old.privateFiles.put(slug, (await old.read(slug)) as Buffer, { thumbnail: await old.readThumbnail(slug) })
      await old.publicFiles.remove(slug)
      await db.pool.query('UPDATE images SET private = true WHERE slug = $1', [slug])
    }
    await hide(hidden)
    s3.fault = async ({ method, url }): Promise<'pass'> => {
      if (method !== 'PUT' || !url?.includes(`${changed}.png`)) return 'pass'
      s3.fault = undefined
      // Its owner makes it private while it is copied.
      await hide(changed)
      return 'pass'
    }
    expect(await move()).toEqual({ code: 0, moved: { ...NOTHING, copied: 3 } })
    // What every server does.
    const purge = undefined
    const fault = vi.fn()
    const servers = startImageMoves({ moves: imageMoves(db), ...wholeImageStore(parseConfig(both), db), purge }, fault)
    await until(async () => (await db.pool.query('SELECT FROM image_moves')).rowCount === 0, 'the end of the moves')
    servers.stop()
    expect(fault).not.toHaveBeenCalled()
    const { publicFiles, privateFiles } = wholeImageStore({ ...parseConfig(both), oldStorage: undefined }, db)
    for (const [slug, isPrivate] of [
      [hidden, true],
      [shown, false],
      [changed, true],
    ] as const)
      expect([await publicFiles.exists(slug), await privateFiles.exists(slug)]).toEqual([!isPrivate, isPrivate])
    expect(await move()).toEqual({ code: 0, moved: { ...NOTHING, present: 3 } })
  })

  it('names an image whose file is not the one that was published, and does not copy it', async () => {
    const [broken] = (await given(2)) as [string, string]
    await writeFile(join(easel.storage, `${broken}.png`), 'something else')
    expect(await move()).toEqual({ code: 1, moved: { ...NOTHING, copied: 1, different: 1, examples: [broken] } })
    const { stderr } = await easel.run(`storage move ${from} ${to}`, both)
    expect(stderr).toMatch(/^error: 1 image could not be moved: /)
    expect(await newer.exists(broken)).toBe(false)
  })
})
