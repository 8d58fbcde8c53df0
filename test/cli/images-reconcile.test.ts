import { readdir, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import { pollStore } from '../../src/db/generations/poll.js'
import { publishedImages } from '../../src/db/images/published-images.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'
import { givenImage, givenProcessing, givenSucceeded } from './given-images.js'

const easel = useEasel({ each: true })
const slugsOf = async (filter = /\.png$/) => (await readdir(easel.storage)).filter((name) => filter.test(name)).sort()
const none = { count: 0, examples: [] }
const one = (slug: string) => ({ count: 1, examples: [slug] })

/** As if it had been there for so many minutes: after ten, one that no image has is unknown. */
async function age(slug: string, minutes: number): Promise<void> {
  const past = new Date(Date.now() - minutes * 60_000)
  for (const extension of ['png', 'webp']) await utimes(join(easel.storage, `${slug}.${extension}`), past, past)
}

const remove = async (slug: string) => {
  for (const extension of ['png', 'webp']) await rm(join(easel.storage, `${slug}.${extension}`))
}

it('images reconcile removes files of removed images and of no image, and marks images whose file is gone', async () => {
  const { db } = easel
  const user = await givenUser(db)
  const { id, slugs } = await givenSucceeded(easel, user, { batchSize: 3 })
  const [kept, removed, gone] = slugs as [string, string, string]
  await easel.json(`images remove ${removed}`)
  await db.pool.query('DELETE FROM takedowns')
  await givenImage(easel, removed) // as from an older copy of the directory
  await remove(gone) // as after an older dump of the database
  const orphan = newSlug()
  const [fresh, coming] = [newSlug(), (await givenGeneration(db, await givenUser(db))).slugs[0] as string]
  for (const slug of [orphan, fresh, coming]) await givenImage(easel, slug)
  for (const slug of [orphan, coming]) await age(slug, 11)
  await age(fresh, 5)

  const found = { still_there: one(removed), file_gone: one(gone), misplaced: none, unknown: one(orphan) }
  const before = await slugsOf()
  expect(await easel.json('images reconcile')).toEqual({ applied: false, ...found })
  expect(await easel.text('images reconcile')).toMatch(
    /\n\nNothing was changed: repeat the command with --apply to make these changes\.$/,
  )
  expect(await slugsOf()).toEqual(before)
  expect(await publishedImages(db).find(gone)).toMatchObject({ removed: false })

  expect(await easel.json('images reconcile --apply')).toEqual({ applied: true, ...found })
  expect(await slugsOf()).toEqual([kept, fresh, coming].map((slug) => `${slug}.png`).sort())
  expect(await slugsOf(/\.webp$/)).toHaveLength(3)
  expect(await publishedImages(db).find(gone)).toMatchObject({ removed: true })
  expect(await pollStore(db).findOwned(user.id, id)).toMatchObject({ slugs: [kept] })
  // The servers have the CDN forget both.
  const { rows } = await db.pool.query('SELECT slug FROM takedowns ORDER BY slug')
  expect(rows.map(({ slug }) => slug)).toEqual([removed, gone].sort())
  expect(await easel.json('images reconcile --apply')).toEqual({
    ...{ applied: true, still_there: none, file_gone: none, misplaced: none, unknown: none },
  })
  const acts = await db.pool.query('SELECT action, target FROM operator_actions ORDER BY id')
  const began = { action: 'began to reconcile images with their files', target: '' }
  expect(acts.rows.slice(-3)).toEqual([
    began,
    { action: 'reconciled images with their files', target: '3 images' },
    began,
  ])
})

it('images reconcile refuses an empty store, and leaves the files of a running generation alone', async () => {
  const { db } = easel
  const { slugs } = await givenSucceeded(easel, await givenUser(db))
  const running = await givenGeneration(db, await givenUser(db))
  await givenProcessing(easel, running)
  for (const line of ['images reconcile', 'images reconcile --apply'])
    expect(await easel.error(line, { STORAGE_URL: `file:${easel.storage}/elsewhere` })).toBe(
      'The image store is empty: check STORAGE_URL, and put the files back first.',
    )
  expect(await publishedImages(db).find(slugs[0] as string)).toMatchObject({ removed: false })
  await givenImage(easel, running.slugs[0] as string)
  await age(running.slugs[0] as string, 11)
  expect(await easel.json('images reconcile')).toMatchObject({ file_gone: none, unknown: none })
})
