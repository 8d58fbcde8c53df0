import { beforeAll, beforeEach, expect, it } from 'vitest'
import { wholeImageStore } from '../../../src/process/image-files.js'
import { useEasel } from '../../cli/easel.js'
import { archive, forgetUses } from '../../support/archived.js'
import { move } from '../../support/moved-to-months.js'
import { type Given, givenPast, readersOf } from '../months/past.js'

const easel = useEasel()

/** Lists of operators and counts have what is in Postgres; and what moves or wipes files brings all back first. */
const OF_POSTGRES = [
  ...[
    'what was spent',
    'the usage of an account',
    'the usage of charged keys',
    'the jobs of all',
    'the jobs of a status',
  ],
  ...['the jobs of an account', 'the images of all', 'removed images', 'all images that are stored', 'all images'],
  ...['whether an image is removed', 'all slugs of an account'],
]
const READERS = Object.fromEntries(
  Object.entries(readersOf(easel)).filter(
    ([name]) => !OF_POSTGRES.includes(name) && !/folder|report|images that leave/.test(name),
  ),
)

const before: Record<string, unknown> = {}
let given: Given

beforeAll(async () => {
  const { db } = easel
  given = await givenPast(easel, 500)
  // What is in a folder or reported stays.
  await db.pool.query(
    'DELETE FROM folder_images; DELETE FROM image_reports; DELETE FROM takedowns; DELETE FROM image_moves',
  )
  await db.pool.query('UPDATE images SET seed = seed + idx')
  await move(db)
  const store = wholeImageStore({ storage: { kind: 'file', path: easel.storage }, cdnBaseUrl: 'https://cdn.test' }, db)
  await store.remove(given.removed)
  const thumbnail = await store.readThumbnail(given.private)
  await store.privateFiles.put(given.private, (await store.read(given.private)) as Buffer, { thumbnail })
  await store.publicFiles.remove(given.private)
  for (const [name, read] of Object.entries(READERS)) before[name] = await read(db, given)
})

// What a reader has brought back is archived again.
beforeEach(async () => {
  await forgetUses(easel.db)
  expect(await archive(easel)).toMatchObject({ left: 0 })
  const { rows } = await easel.db.pool.query(
    'SELECT FROM all_generations WHERE month IS NOT NULL UNION ALL SELECT FROM all_images WHERE month IS NOT NULL',
  )
  expect(rows).toEqual([])
})

it.each(Object.keys(READERS))('%s: what is archived is read as before', async (name) => {
  expect(before[name]).not.toBeUndefined()
  expect(before[name]).not.toEqual([])
  expect(await READERS[name]?.(easel.db, given)).toEqual(before[name])
})
