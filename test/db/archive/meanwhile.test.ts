import { expect, it } from 'vitest'
import type { ArchiveFiles } from '../../../src/core/generations/archive-months.js'
import { bringAllBack } from '../../../src/db/brought-back.js'
import type { Database } from '../../../src/db/client.js'
import { accountExports } from '../../../src/db/gallery/account-export.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { galleryStore } from '../../../src/db/gallery/gallery.js'
import { retentionStore } from '../../../src/db/generations/retention.js'
import { hiddenImageRows } from '../../../src/db/images/hidden-images.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { useEasel } from '../../cli/easel.js'
import { archive, archiveInto, filesOf, forgetUses } from '../../support/archived.js'
import { givenImages } from '../../support/given-images.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { age, move } from '../../support/moved-to-months.js'

const easel = useEasel({ each: true })

const rows = async (text: string, ...values: unknown[]) => (await easel.db.pool.query(text, values)).rows

/** Images of long ago, each of a generation of its own, the newest first. */
async function givenOld(count: number): Promise<{ user: GivenUser; slugs: string[] }> {
  const user = await givenUser(easel.db)
  const slugs = await givenImages(easel.db, user, Array(count).fill({ prompt: 'a secret lighthouse' }))
  await age(easel.db, 500)
  await move(easel.db)
  return { user, slugs }
}

it('takes nothing of an account from whoever has brought all of it back, also when nothing was there', async () => {
  const { user } = await givenOld(3)
  await bringAllBack(easel.db, user.id)
  expect(await archive(easel)).toMatchObject({ generations: 0, left: 0 })
})

it('takes nothing that was being written when somebody brought all back', async () => {
  const { user } = await givenOld(3)
  const own = filesOf(easel)
  const put: ArchiveFiles['put'] = async (id, bytes) => {
    await own.put(id, bytes)
    await bringAllBack(easel.db, user.id)
  }
  expect(await archiveInto(easel.db, { ...own, put })).toMatchObject({ generations: 0, left: 3 })
})

it('an export that has begun has all of the account, whatever is archived meanwhile', async () => {
  const { user } = await givenOld(3)
  const exported = []
  for await (const page of accountExports(easel.db).images(user.id)) {
    exported.push(page.slug)
    await archive(easel)
  }
  expect(exported.length).toBe(3)
  const others = await rows('SELECT FROM archived')
  expect(others).toEqual([])
})

it('what has an end comes to it, also if the archive was at it at this moment', async () => {
  const { user, slugs } = await givenOld(2)
  await rows(`UPDATE notices SET created_at = now() - interval '2 days'`)
  await folderStore(easel.db).add(user.id, 'favourites', [slugs[0] as string])
  const own = easel.db.archive as NonNullable<Database['archive']>
  // A server that knows of no end yet archives between what a step brings back and what it changes.
  const bringBackOneOf: typeof own.bringBackOneOf = async (...span) => {
    const found = await own.bringBackOneOf(...span)
    if (!found) await archive(easel)
    return found
  }
  const kept = { prompts: 10, images: undefined }
  const retention = retentionStore({ ...easel.db, archive: { ...own, bringBackOneOf } })
  while ((await retention.overdue(kept, undefined)).accounts.some((it) => it.prompts))
    await retention.emptyPrompts(user.id, kept)
  await own.bringBack(slugs)
  expect(await rows('SELECT DISTINCT prompt FROM all_generations')).toEqual([{ prompt: '' }])
})

it('what is brought back while the tables of its month are dropped comes into new ones', async () => {
  const { user, slugs } = await givenOld(1)
  await archive(easel)
  const [file] = await rows(`SELECT month::text FROM archive_files WHERE status = 'stored'`)
  await rows('SELECT add_month($1)', file.month)
  const dropping = await easel.db.pool.connect()
  try {
    await dropping.query('BEGIN')
    const { rows: dropped } = await dropping.query('SELECT drop_archived_month($1) AS dropped', [file.month])
    expect(dropped).toEqual([{ dropped: true }])
    const coming = (easel.db.archive as NonNullable<Database['archive']>).bringBack(slugs)
    await expect
      .poll(() => rows(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`))
      .toHaveLength(1)
    await dropping.query('COMMIT')
    expect(await coming).toBe(true)
    expect(await galleryStore(easel.db).image(user.id, slugs[0] as string)).toMatchObject({ slug: slugs[0] })
  } finally {
    dropping.release()
  }
})

it('leads from one image to the next, wherever they are', async () => {
  const { user, slugs } = await givenOld(5)
  // The second stays in Postgres, and those on either side of it are archived.
  await folderStore(easel.db).add(user.id, 'favourites', [slugs[1] as string, slugs[3] as string])
  for (let n = 0; n < slugs.length; n++) {
    await forgetUses(easel.db)
    await archive(easel)
    expect({ n, ...(await galleryStore(easel.db).neighbours(user.id, slugs[n] as string)) }).toEqual({
      n,
      newer: slugs[n - 1] ?? null,
      older: slugs[n + 1] ?? null,
    })
  }
})

it('an image is hidden also while it is brought back', async () => {
  const { user, slugs } = await givenOld(1)
  const [slug] = slugs as [string]
  await imagePrivacy(easel.db).set(user.id, [slug], true)
  await rows('DELETE FROM image_moves')
  await archive(easel)
  expect(await rows('SELECT FROM archived WHERE name = $1', slug)).toHaveLength(1)
  const own = easel.db.archive as NonNullable<Database['archive']>
  const { pool } = easel.db
  const query = async (...asked: Parameters<typeof pool.query>) => {
    if ((asked[0] as { name?: string }).name === 'hidden_archived_images') await own.bringBack(slugs)
    return pool.query(...asked)
  }
  const db = { ...easel.db, pool: { query } as unknown as typeof pool }
  expect(await hiddenImageRows(db).isHidden(slug)).toBe(true)
})
