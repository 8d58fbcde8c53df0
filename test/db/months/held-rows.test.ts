import { beforeEach, expect, it } from 'vitest'
import { monthStore } from '../../../src/db/generations/move-to-months.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { useEasel } from '../../cli/easel.js'
import { givenSucceeded } from '../../cli/given-images.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { age } from '../../support/moved-to-months.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'

const easel = useEasel({ each: true })

let user: GivenUser
let id: string

beforeEach(async () => {
  user = await givenUser(easel.db)
  id = (await givenSucceeded(easel, user, { width: 8, height: 8, batchSize: 2 })).id
  await age(easel.db)
})

const rows = async (text: string, ...values: unknown[]) => (await easel.db.pool.query(text, values)).rows

it('a change of several images is done though the move locks them in another order', async () => {
  // In the order of slugs and in that of the table, whichever the change takes.
  await unguarded(easel.db, 'UPDATE images SET slug = idx || slug WHERE idx = 0')
  await unguarded(easel.db, 'UPDATE images SET slug = idx || slug WHERE idx = 1')
  const [first, second] = (await rows('SELECT slug FROM images ORDER BY idx')).map((it) => it.slug)
  const mover = await easel.db.pool.connect()
  // The change finds the deadlock, never the mover.
  await mover.query(`SET deadlock_timeout = '10min'; SET lock_timeout = 0; SET statement_timeout = 0; BEGIN`)
  const lock = (slug: string) => mover.query('SELECT FROM images WHERE slug = $1 FOR UPDATE', [slug])
  await lock(second)
  const change = imagePrivacy(easel.db).set(user.id, [first, second], true)
  const isWaiting = async () =>
    (await rows(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
      .length === 1
  await until(isWaiting, 'the change to wait for the second image')
  const done = change.catch((error) => error)
  await lock(first)
  await mover.query('COMMIT')
  mover.release(true)
  expect(await done).toBe(2)
})

it('easel maintenance says what was in use, and moves it the next time', async () => {
  const holder = await easel.db.pool.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM generations WHERE id = $1 FOR UPDATE', [id])
  expect(await easel.text('maintenance --live-months 1')).toMatch(
    /^Moved to their months: 0 generations\..* In use, and not moved: 1 generation\. Run this again later\.$/,
  )
  await holder.query('ROLLBACK')
  holder.release()
  expect(await easel.text('maintenance --live-months 1')).toBe('Moved to their months: 1 generation.')
  expect(await easel.text('maintenance --live-months 1')).toBe('Nothing is to be moved.')
})

it('what hangs on a generation and is held keeps no other from moving', async () => {
  const other = (await givenSucceeded(easel, await givenUser(easel.db), { width: 8, height: 8 })).id
  await age(easel.db)
  const holder = await easel.db.pool.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM images WHERE generation_id = $1 FOR UPDATE', [id])
  const { move, add, next } = monthStore(easel.db)
  const due = await next(1, 0)
  for (const month of due.months) await add(month)
  expect(await move(due.ids)).toBe(1)
  expect(await rows('SELECT id FROM all_generations WHERE month IS NOT NULL')).toEqual([{ id: other }])
  await holder.query('ROLLBACK')
  holder.release()
})
