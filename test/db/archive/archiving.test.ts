import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ArchiveFiles } from '../../../src/core/generations/archive-months.js'
import { FileUnreadable } from '../../../src/core/images/read-each.js'
import { openArchive } from '../../../src/db/archive.js'
import { imageDeletions } from '../../../src/db/gallery/deletions.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { galleryStore } from '../../../src/db/gallery/gallery.js'
import { historyStore } from '../../../src/db/generations/history.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import type { Page } from '../../../src/lib/page.js'
import { useEasel } from '../../cli/easel.js'
import { archive, archiveInto, filesOf, forgetUses } from '../../support/archived.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { age, move } from '../../support/moved-to-months.js'
import { unguarded } from '../../support/unguarded.js'

const easel = useEasel({ each: true })

const rows = async (text: string, ...values: unknown[]) => (await easel.db.pool.query(text, values)).rows
const count = async (of: string) => Number((await rows(`SELECT count(*) FROM ${of}`))[0].count)
const inTables = () => count('all_generations WHERE month IS NOT NULL')
const files = () => readdir(join(easel.storage, 'archive')).catch(() => [])

async function allOf<T>(read: (after: readonly number[] | undefined) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = []
  for (let after: readonly number[] | undefined; ; ) {
    const { items, next } = await read(after)
    found.push(...items)
    if (!next) return found
    after = next
  }
}

it('lists go on in the archive where Postgres ends, in either order and while searching, and bring back what they show', async () => {
  const { db } = easel
  const user = await givenUser(db)
  await givenImages(
    db,
    user,
    Array.from({ length: 560 }, (_, n) => ({ prompt: n % 100 === 7 ? 'a lighthouse' : 'a lantern' })),
  )
  await age(db, 500)
  await givenImages(db, user, [{}, {}, {}])
  await move(db)
  const gallery = galleryStore(db)
  const readers: Readonly<Record<string, () => Promise<unknown[]>>> = {
    newest: () => allOf((after) => gallery.images(user.id, {}, { limit: 90, after })),
    oldest: () => allOf((after) => gallery.images(user.id, {}, { limit: 90, after }, 'oldest')),
    search: () => allOf((after) => gallery.images(user.id, { prompt: 'lighthouse' }, { limit: 4, after })),
    history: () => allOf((after) => historyStore(db).generations(user.id, {}, { limit: 90, after })),
    none: () => allOf((after) => gallery.images(user.id, { until: new Date(0) }, { limit: 90, after })),
  }
  for (const [name, read] of Object.entries(readers)) {
    await forgetUses(db)
    const before = await read()
    await archive(easel)
    expect({ name, left: await inTables() }).toEqual({ name, left: 0 })
    expect({ name, after: await read() }).toEqual({ name, after: before })
  }
  await forgetUses(db)
  await archive(easel)
  expect((await files()).length).toBe(3)
  // Of the newest page, all that is live is enough.
  await gallery.images(user.id, {}, { limit: 2, after: undefined })
  expect(await inTables()).toBe(0)
  await gallery.images(user.id, {}, { limit: 90, after: undefined })
  expect(await inTables()).toBe(60 + 250)
})

it('a request brings back twenty files at most, and its page then ends early', async () => {
  const { db } = easel
  const user = await givenUser(db)
  await givenImages(db, user, Array(25).fill({}))
  await age(db, 500)
  await unguarded(
    db,
    `UPDATE generations g SET created_at = created_at - n * interval '1 month'
       FROM (SELECT id, row_number() OVER (ORDER BY seq) AS n FROM generations) o WHERE o.id = g.id`,
  )
  await move(db)
  const gallery = galleryStore(db)
  const readers: Readonly<Record<string, (after: readonly number[] | undefined) => Promise<Page<unknown>>>> = {
    newest: (after) => gallery.images(user.id, {}, { limit: 90, after }),
    oldest: (after) => gallery.images(user.id, {}, { limit: 90, after }, 'oldest'),
    search: (after) => gallery.images(user.id, { prompt: 'nothing' }, { limit: 90, after }),
    history: (after) => historyStore(db).generations(user.id, {}, { limit: 90, after }),
    failed: (after) => historyStore(db).generations(user.id, { status: 'failed' }, { limit: 90, after }),
  }
  for (const [name, read] of Object.entries(readers)) {
    await forgetUses(db)
    const before = await allOf(read)
    await archive(easel)
    expect((await files()).length).toBe(25)
    const first = await read(undefined)
    expect({ name, inTables: await inTables(), next: first.next !== undefined }).toEqual({
      name,
      inTables: 20,
      next: true,
    })
    expect({ name, after: await allOf(read) }).toEqual({ name, after: before })
    expect(await inTables()).toBe(25)
  }
})

it('lets owners change what is being archived, and loses none of their changes', async () => {
  const { db } = easel
  const OLD = 40
  const users = await Promise.all(Array.from({ length: 3 }, () => givenUser(db)))
  const slugs = new Map<string, string[]>()
  for (const user of users) slugs.set(user.id, await givenImages(db, user, Array(OLD).fill({})))
  await age(db, 500)
  await move(db)
  let isArchiving = true
  const archiver = (async () => {
    while (isArchiving) {
      await forgetUses(db)
      await archive(easel)
    }
  })()
  try {
    await Promise.all(
      users.map(async (user) => {
        const own = slugs.get(user.id) as string[]
        const folder = await folderStore(db).create(user.id, 'Best')
        for (const isPrivate of [true, false, true]) {
          expect(await imagePrivacy(db).set(user.id, own, isPrivate)).toBe(OLD)
          await rows('DELETE FROM image_moves WHERE slug = ANY ($1)', own)
          expect(await imageDeletions(db).begin(user.id, own, 600)).toBe(OLD)
          expect(await imageDeletions(db).undo(user.id)).toBe(OLD)
          expect(await folderStore(db).add(user.id, folder, own)).toBe(OLD)
          const page = await galleryStore(db).images(user.id, { folder }, { limit: OLD + 1, after: undefined })
          expect(page.items.map((it) => it.isPrivate)).toEqual(Array(OLD).fill(isPrivate))
          await folderStore(db).take(user.id, folder, own)
          const all = await galleryStore(db).images(user.id, {}, { limit: OLD + 1, after: undefined })
          expect(all.items.length).toBe(OLD)
        }
      }),
    )
  } finally {
    isArchiving = false
    await archiver
  }
})

const archiveBy = (changed: Partial<ArchiveFiles>) => archiveInto(easel.db, { ...filesOf(easel), ...changed })

it('deletes no row while files cannot be stored, and goes on afterwards', async () => {
  const user = await givenUser(easel.db)
  await givenImages(easel.db, user, Array(5).fill({}))
  await age(easel.db, 500)
  await move(easel.db)
  const put = async () => {
    throw new Error('The disk is full.')
  }
  await expect(archiveBy({ put })).rejects.toThrow('The disk is full.')
  expect(await inTables()).toBe(5)
  expect(await archive(easel)).toMatchObject({ generations: 5 })
  // What was begun and never stored is forgotten after a while.
  expect(await count('archive_files')).toBe(2)
  await rows(`UPDATE archive_files SET changed_at = now() - interval '2 hours'`)
  await archive(easel)
  expect(await count('archive_files')).toBe(1)
})

it('keeps what changed after its file was written', async () => {
  const user = await givenUser(easel.db)
  const [slug] = (await givenImages(easel.db, user, [{}])) as [string]
  await age(easel.db, 500)
  await move(easel.db)
  const own = filesOf(easel)
  const put: ArchiveFiles['put'] = async (id, bytes) => {
    await own.put(id, bytes)
    await rows('UPDATE all_images SET link_revocations = link_revocations + 1 WHERE slug = $1', slug)
  }
  expect(await archiveBy({ put })).toMatchObject({ generations: 0, left: 1 })
  expect(await inTables()).toBe(1)
  expect(await files()).toEqual([])
  expect(await archive(easel)).toMatchObject({ generations: 1, left: 0 })
})

it('archives by several passes at once, each generation into one file', async () => {
  const users = await Promise.all(Array.from({ length: 6 }, () => givenUser(easel.db)))
  for (const user of users) await givenImages(easel.db, user, Array(20).fill({}))
  await age(easel.db, 500)
  await move(easel.db)
  const passes = await Promise.all([1, 2, 3].map(() => archive(easel)))
  expect(passes.reduce((sum, it) => sum + it.generations, 0) + (await archive(easel)).generations).toBe(120)
  expect(await count('archived')).toBe(240)
  const listed = await easel.json('archive list')
  expect(listed.months).toMatchObject([{ accounts: 6, generations: 120 }])
  expect((await files()).length).toBe(listed.months[0].files)
})

it('easel archive shows what is there, and brings it back', async () => {
  const user = await givenUser(easel.db)
  const [slug] = (await givenImages(easel.db, user, [{ prompt: 'a lighthouse' }, {}])) as [string]
  await age(easel.db, 500)
  expect(await easel.text('maintenance --live-months 2 --archive-months 13')).toMatch(
    /^Moved to their months: 2 generations\. New months: [\d-]+\.\nArchived: 2 generations\. Months that have no generations in Postgres any more: [\d-]+\.$/,
  )
  const shown = await easel.json(`archive show ${slug}`)
  expect(shown).toMatchObject({ generation: { prompt: 'a lighthouse' }, images: [{ slug }], put_back_attempts: [] })
  expect(await inTables()).toBe(0)
  expect(await easel.json(`archive show ${shown.generation.id}`)).toEqual(shown)
  expect(await easel.text(`archive bring-back ${slug}`)).toBe('Brought back: 2 generations.')
  expect(await inTables()).toBe(2)
  expect(await easel.text('archive list')).toBe('The archive is empty.')
  expect(await easel.error(`archive show ${slug}`)).toBe(
    `The archive has nothing with the ID "${slug}": "easel jobs show" finds what is in Postgres.`,
  )
})

it.each([
  ['maintenance --archive-months 13', '--live-months, or LIVE_MONTHS, must say'],
  ['maintenance --live-months 20 --archive-months 13', '--archive-months must be more than the 20 months'],
  ['maintenance --live-months 2 --archive-months 12', '--archive-months must be'],
])('easel %s is refused', async (line, sentence) => {
  expect(await easel.error(line)).toContain(sentence)
})

it('a file of the archive that the store does not give holds up none of the others, and is not given up', async () => {
  const { db } = easel
  const user = await givenUser(db)
  await givenImages(db, user, [{ prompt: 'a lighthouse' }])
  await age(db, 500)
  await move(db)
  await archive(easel)
  await givenImages(db, user, [{ prompt: 'a lantern' }])
  await age(db, 460)
  await move(db)
  await forgetUses(db)
  await archive(easel)
  const ids = (await files()).map((name) => name.replace('.archive', ''))
  expect(ids).toHaveLength(2)
  const [cold = ''] = ids
  const stored = filesOf(easel)
  const read = async (id: string) => {
    if (id === cold) throw new FileUnreadable('It lies in cold storage.', 'InvalidObjectState')
    return stored.read(id)
  }
  const opened = openArchive(db.pool, { ...stored, read })
  expect(await opened.damaged()).toEqual([cold])
  expect(await opened.isUnreadable(cold)).toBe(false)
  const contents: unknown[] = []
  for await (const content of opened.contents({ skipDamaged: true })) contents.push(content)
  expect(contents).toHaveLength(1)
  const copied: string[] = []
  const to = { ...stored, read: async () => undefined, put: async (id: string) => void copied.push(id) }
  expect(await opened.copy({ ...stored, read }, to)).toEqual({ copied: 1, present: 0, missing: 0, failed: 1 })
  expect(await opened.bringBackAllOf(user.id)).toEqual([cold])
  expect(await inTables()).toBe(1)
})

it('a file of the archive that the store does not take leaves the other accounts to be archived', async () => {
  const { db } = easel
  for (let n = 0; n < 3; n++) await givenImages(db, await givenUser(db), [{}])
  await age(db, 500)
  await move(db)
  const stored = filesOf(easel)
  let puts = 0
  const put = async (id: string, bytes: Buffer) => {
    if (++puts === 1) throw new Error('too large')
    return stored.put(id, bytes)
  }
  expect(await archiveInto(db, { ...stored, put })).toMatchObject({ generations: 2, left: 1 })
  expect(await inTables()).toBe(1)
})
