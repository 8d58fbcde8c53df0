import { beforeAll, expect, it } from 'vitest'
import type { Database } from '../../../src/db/client.js'
import { useEasel } from '../../cli/easel.js'
import { move } from '../../support/moved-to-months.js'
import { type Given, givenPast, readersOf } from './past.js'

const easel = useEasel()
const READERS = readersOf(easel)
const before: Record<string, unknown> = {}
let given: Given

beforeAll(async () => {
  const { db } = easel
  given = await givenPast(easel, 100)
  for (const [name, read] of Object.entries(READERS)) before[name] = await read(db, given)
  await move(db)
  expect(await movedOf(db)).toEqual({ generations: 3, images: 5, credit_ledger: 3, usage: 2 })
})

async function movedOf(db: Database) {
  const count = async (table: string) =>
    Number((await db.pool.query(`SELECT count(*) FROM all_${table} WHERE month IS NOT NULL`)).rows[0].count)
  return {
    generations: await count('generations'),
    images: await count('images'),
    credit_ledger: await count('credit_ledger'),
    usage: await count('usage'),
  }
}

it.each(Object.keys(READERS))('%s: what has moved to its month is read as before', async (name) => {
  expect(before[name]).not.toBeUndefined()
  expect(before[name]).not.toEqual([])
  expect(await READERS[name]?.(easel.db, given)).toEqual(before[name])
})
