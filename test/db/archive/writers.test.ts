import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { accountExports } from '../../../src/db/gallery/account-export.js'
import { imageDeletions } from '../../../src/db/gallery/deletions.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { galleryStore } from '../../../src/db/gallery/gallery.js'
import { historyStore } from '../../../src/db/generations/history.js'
import { pollStore } from '../../../src/db/generations/poll.js'
import { retentionStore } from '../../../src/db/generations/retention.js'
import { hiddenImageRows } from '../../../src/db/images/hidden-images.js'
import { imageInventory, imageList } from '../../../src/db/images/image-inventory.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { publishedImages } from '../../../src/db/images/published-images.js'
import { imageRemovals } from '../../../src/db/images/removals.js'
import { reportStore } from '../../../src/db/images/reports.js'
import { useEasel } from '../../cli/easel.js'
import { givenSucceeded } from '../../cli/given-images.js'
import { archive, forgetUses } from '../../support/archived.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { age, move } from '../../support/moved-to-months.js'

const easel = useEasel({ each: true })
const PAGE = { limit: 50, after: undefined }
const SHAPE = { width: 8, height: 8, batchSize: 2 }

let user: GivenUser
let id: string
let slug: string
let other: string

beforeEach(async () => {
  user = await givenUser(easel.db)
  const generation = await givenSucceeded(easel, user, { ...SHAPE, prompt: 'a secret lighthouse' })
  id = generation.id
  ;[slug, other] = generation.slugs as [string, string]
  await rows('UPDATE images SET seed = seed + idx')
  await age(easel.db, 500)
  await move(easel.db)
})

const rows = async (text: string, ...values: unknown[]) => (await easel.db.pool.query(text, values)).rows
const isInPostgres = async () => (await rows('SELECT FROM all_generations WHERE id = $1', id)).length === 1
const files = () => readdir(join(easel.storage, 'archive')).catch(() => [])
const violations = async () =>
  (JSON.parse((await easel.run('audit --full --json')).stdout).checks as { name: string; violations: number }[])
    .filter((it) => it.violations > 0)
    .map(({ name }) => name)

describe('an image that is archived', () => {
  beforeEach(async () => {
    expect(await archive(easel)).toMatchObject({ generations: 1, left: 0 })
    expect(await isInPostgres()).toBe(false)
  })

  it('has its rows in a file that nobody can read without its key, and its tables are dropped', async () => {
    expect((await files()).length).toBe(1)
    expect(await rows(`SELECT FROM pg_class WHERE relname ~ '^(generations|images|put_back_attempts)_2'`)).toEqual([])
    expect(await violations()).toEqual([])
  })

  it('is shown to strangers without being brought back', async () => {
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ slug, removed: false, ownerId: user.id })
    expect(await publishedImages(easel.db).find('A'.repeat(22))).toBeUndefined()
    expect(await isInPostgres()).toBe(false)
  })

  it('is not brought back by another account', async () => {
    const stranger = await givenUser(easel.db)
    expect(await galleryStore(easel.db).image(stranger.id, slug)).toBeUndefined()
    expect(await pollStore(easel.db).findOwned(stranger.id, id)).toBeUndefined()
    expect(await imagePrivacy(easel.db).set(stranger.id, [slug], true)).toBe(0)
    expect(await imageDeletions(easel.db).begin(stranger.id, [slug], 0)).toBe(0)
    expect(await imageRemovals(easel.db).remove(slug, 'mine now', stranger.id)).toBeUndefined()
    expect(await isInPostgres()).toBe(false)
  })

  it('comes back to its owner, whose file then goes', async () => {
    expect(await galleryStore(easel.db).image(user.id, slug)).toMatchObject({ slug, prompt: 'a secret lighthouse' })
    expect(await isInPostgres()).toBe(true)
    expect(await violations()).toEqual([])
    expect(await archive(easel)).toMatchObject({ generations: 0 })
    expect(await files()).toEqual([])
  })

  it('comes back once, whoever asks at the same time', async () => {
    const asked = await Promise.all([
      ...[1, 2, 3].map(() => galleryStore(easel.db).images(user.id, {}, PAGE)),
      ...[1, 2, 3].map(async () => ({ items: (await historyStore(easel.db).generations(user.id, {}, PAGE)).items })),
      (async () => ({ items: [await pollStore(easel.db).findOwned(user.id, id), 2] }))(),
    ])
    expect(asked.map(({ items }) => items.length)).toEqual([2, 2, 2, 1, 1, 1, 2])
    expect(await violations()).toEqual([])
  })

  it('is made private and public again, and its links are taken back', async () => {
    const privacy = imagePrivacy(easel.db)
    expect(await privacy.set(user.id, [slug, other], true)).toBe(2)
    expect(await privacy.isMoving(slug)).toBe(true)
    await rows('DELETE FROM image_moves')
    await forgetUses(easel.db)
    await archive(easel)
    expect(await hiddenImageRows(easel.db).isHidden(slug)).toBe(true)
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ isPrivate: true })
    await privacy.revokeLinks(user.id, slug)
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ linkRevocations: 1 })
    expect(await privacy.set(user.id, [slug], false)).toBe(1)
    expect(await hiddenImageRows(easel.db).isHidden(slug)).toBe(false)
  })

  it('is deleted by its owner, taken down by operators, reported, and put into a folder', async () => {
    expect(await imageDeletions(easel.db).begin(user.id, [slug, other], 60)).toBe(2)
    await imageDeletions(easel.db).undo(user.id)
    const again = async () => {
      await rows('DELETE FROM takedowns')
      await forgetUses(easel.db)
      await archive(easel)
      expect(await isInPostgres()).toBe(false)
    }
    await again()
    expect(await imageRemovals(easel.db).remove(slug, 'because', undefined)).toMatchObject({ reason: 'because' })
    await again()
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ removed: true })
    expect(await reportStore(easel.db).add(slug, { reason: 'other', note: '' })).toBe(false)
    await again()
    expect(await reportStore(easel.db).add(other, { reason: 'other', note: '' })).toBe(true)
    await rows('DELETE FROM image_reports')
    await again()
    const folder = await folderStore(easel.db).create(user.id, 'Best')
    expect(await folderStore(easel.db).add(user.id, folder, [other, 'unknown'])).toBe(1)
    expect((await galleryStore(easel.db).images(user.id, { folder }, PAGE)).items.map((it) => it.slug)).toEqual([other])
  })

  it('is exported, and goes with its account', async () => {
    const exported = []
    for await (const page of accountExports(easel.db).rows(user.id, 'generations')) exported.push(...page)
    expect(exported.join('')).toContain('a secret lighthouse')
    await forgetUses(easel.db)
    await archive(easel)
    await easel.text(`user delete ${user.username} --purge`)
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ removed: true })
    expect(await rows('SELECT prompt FROM all_generations WHERE id = $1', id)).toEqual([{ prompt: '' }])
    await archive(easel)
    expect(await files()).toEqual([])
  })

  it('goes with its prompt once something has an end that had none', async () => {
    const retention = retentionStore(easel.db)
    const kept = { prompts: 10, images: 10 }
    await rows(`UPDATE notices SET created_at = now() - interval '2 days'`)
    const { accounts } = await retention.overdue(kept, undefined)
    expect(accounts).toContainEqual(expect.objectContaining({ accountId: user.id, prompts: true, images: true }))
    expect(await retention.emptyPrompts(user.id, kept)).toBe(1)
    expect(await retention.removeImages(user.id, kept)).toBe(1)
    expect(await rows('SELECT prompt FROM all_generations WHERE id = $1', id)).toEqual([{ prompt: '' }])
    await rows('DELETE FROM takedowns')
    await forgetUses(easel.db)
    expect(await archive(easel, kept)).toMatchObject({ generations: 1 })
    expect((await retention.overdue(kept, undefined)).accounts).toEqual([])
  })

  it('has files that belong to it, for whoever looks for files of no image or copies all', async () => {
    expect(await imageInventory(easel.db).unknownAmong([slug, 'unknown'])).toEqual(['unknown'])
    const copied = []
    for await (const page of imageList(easel.db).pages()) copied.push(...page.map((it) => it.slug))
    expect(new Set(copied)).toEqual(new Set([slug, other]))
    expect(await easel.json('images reconcile')).toMatchObject({ unknown: { count: 0 }, file_gone: { count: 0 } })
    for (const name of [`${slug}.png`, `${slug}.webp`]) await rm(join(easel.storage, name), { force: true })
    expect(await violations()).toEqual(['images-are-stored-intact'])
    expect(await easel.json('images reconcile --apply')).toMatchObject({ file_gone: { count: 1, examples: [slug] } })
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ removed: true })
  })

  it('is missed by the audit and by its owner when its file is damaged or gone', async () => {
    const [file] = (await files()) as [string]
    await writeFile(join(easel.storage, 'archive', file), 'x'.repeat(100))
    expect(await violations()).toEqual(['archived-generations-can-be-read'])
    await expect(galleryStore(easel.db).image(user.id, slug)).rejects.toThrow(
      'is damaged: put it back from a backup, or give it up with "easel archive give-up".',
    )
    await rm(join(easel.storage, 'archive', file))
    expect(await violations()).toEqual(['archived-generations-can-be-read'])
    await expect(publishedImages(easel.db).find(slug)).rejects.toThrow(
      'is not in the image store: put it back from a backup',
    )
    const [lost] = await rows('SELECT id FROM archive_files')
    expect(await easel.text(`archive give-up ${lost.id}`)).toBe('Given up: 1 generation.')
    expect(await violations()).toEqual([])
    expect(await galleryStore(easel.db).image(user.id, slug)).toBeUndefined()
    expect(await easel.error(`archive give-up ${lost.id}`)).toContain('there is nothing to give up.')
    await easel.text(`user delete ${user.username} --purge`)
    expect(await readdir(easel.storage)).not.toContain(`${slug}.png`)
  })
})

describe('what somebody uses stays in Postgres', () => {
  it.each([
    ['an image in a folder', async () => void (await folderStore(easel.db).add(user.id, 'favourites', [slug]))],
    ['a reported image', async () => void (await reportStore(easel.db).add(slug, { reason: 'other', note: '' }))],
    ['an image whose file is on its way', async () => void (await imagePrivacy(easel.db).set(user.id, [slug], true))],
    [
      'an image whose deletion can be undone',
      async () => void (await imageDeletions(easel.db).begin(user.id, [slug], 600)),
    ],
    ['the picture of a model', () => rows('UPDATE model_versions SET cover = $1 WHERE id = 1', slug)],
    ['what was brought back lately', () => rows('INSERT INTO archive_uses (user_id) VALUES ($1)', user.id)],
  ])('%s', async (_, use) => {
    await use()
    expect(await archive(easel)).toMatchObject({ generations: 0 })
    expect(await isInPostgres()).toBe(true)
  })

  it('what will have an end, until it has come', async () => {
    expect(await archive(easel, { prompts: 600, images: undefined })).toMatchObject({ generations: 0 })
    expect(await archive(easel)).toMatchObject({ generations: 1 })
  })
})
