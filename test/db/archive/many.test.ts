import { expect, it } from 'vitest'
import type { Database } from '../../../src/db/client.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { archiveStore } from '../../../src/db/generations/archive-store.js'
import { useEasel } from '../../cli/easel.js'
import { archive, filesOf } from '../../support/archived.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { age, move } from '../../support/moved-to-months.js'

const easel = useEasel({ each: true })

const rows = async (text: string, ...values: unknown[]) => (await easel.db.pool.query(text, values)).rows

it('tells which months may go without reading a generation, however many there are', async () => {
  await givenImages(easel.db, await givenUser(easel.db), [{}])
  await age(easel.db, 500)
  await move(easel.db)
  const store = archiveStore(easel.db, filesOf(easel), { prompts: undefined, images: undefined })
  const holding = await easel.db.pool.connect()
  try {
    await holding.query('BEGIN; LOCK TABLE all_generations IN ACCESS EXCLUSIVE MODE')
    expect((await store.months(13)).length).toBe(1)
    await holding.query('COMMIT')
  } finally {
    holding.release()
  }
  await archive(easel)
  expect(await store.months(13)).toEqual([])
})

it('looks at so many generations of an account at a time, comes to all of them, and leaves those in use', async () => {
  const { db } = easel
  const users = await Promise.all([1, 2, 3].map(() => givenUser(db)))
  const [first, second, third] = users as [(typeof users)[0], (typeof users)[0], (typeof users)[0]]
  const own = await givenImages(db, first, Array(620).fill({}))
  await givenImages(db, second, Array(251).fill({}))
  await givenImages(db, third, Array(10).fill({}))
  await age(db, 500)
  await move(db)
  // The oldest 400 and one more.
  await folderStore(db).add(first.id, 'favourites', [...own.slice(220), own[3] as string])
  const store = archiveStore(db, filesOf(easel), { prompts: undefined, images: undefined })
  const months = await store.months(13)
  let archived = 0
  for (const month of months)
    for (let some = (await store.accounts(month, undefined)).map((accountId) => ({ accountId })); some.length > 0; ) {
      const step = await store.step(month, some)
      expect(step.generations).toBeLessThanOrEqual(500)
      archived += step.generations
      some = [...step.more]
    }
  expect(archived).toBe(219 + 251 + 10)
  expect((await rows('SELECT FROM all_generations')).length).toBe(401)
})

it('names what is without a file, however many have one', async () => {
  await givenImages(easel.db, await givenUser(easel.db), [{}])
  await age(easel.db, 500)
  await move(easel.db)
  await archive(easel)
  await rows(
    `INSERT INTO archived SELECT 'name-' || n, (SELECT id FROM archive_files), false FROM generate_series(1, 2500) n`,
  )
  await rows(`UPDATE archived SET file_id = gen_random_uuid() WHERE name IN ('name-1', 'name-2500')`)
  const { damaged } = easel.db.archive as NonNullable<Database['archive']>
  expect(await damaged()).toEqual(['name-1', 'name-2500'])
  expect(await damaged(10)).toEqual([])
})
