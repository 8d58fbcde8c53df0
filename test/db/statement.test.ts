import { sql } from 'drizzle-orm'
import { expect, it } from 'vitest'
import { users } from '../../src/db/schema/accounts.js'
import { columns, insertInto, param, queryOnce, selectAs, setList, statement } from '../../src/db/statement.js'
import { useDatabase } from '../support/database.js'

const context = useDatabase()

it('a statement has one parameter for each name, null for what is undefined, and its constants in its text', async () => {
  const { pool } = context.db
  const LIKE = statement<{ x: number; again: number; none: null; word: string }>(
    'like',
  )`SELECT ${param('x')}::bigint AS x, ${param('x')} + 1 AS again, ${param('none')}::text AS none, ${"it's"} AS word`
  expect(await LIKE.first(pool, { x: 2, none: undefined })).toEqual({ x: 2, again: 3, none: null, word: "it's" })
  await expect(LIKE.first(pool, { x: 2 })).rejects.toThrow('the statement like got no value for none')
  expect(await LIKE.count(pool, { x: 2, none: 1 })).toBe(1)
  const prepared = await queryOnce<{ statement: string; types: string }>(
    pool,
    sql`SELECT statement, parameter_types::text AS types FROM pg_prepared_statements WHERE name = ${'like'}`,
  )
  expect(prepared).toEqual([{ statement: expect.stringContaining(`'it''s'`), types: '{bigint,text}' }])
})

it('a statement takes its names from the schema: of columns where it writes, of the code where it reads', async () => {
  const { pool } = context.db
  const STORE = statement<{ id: string; createdAt: Date; deletedAt: Date | null }>('store')`
  ${insertInto(users, { username: param('name'), credits: 7 })}
      RETURNING ${selectAs(columns(users, 'id', 'createdAt', 'deletedAt'))}`
  const stored = await STORE.first(pool, { name: 'one' })
  expect(stored).toEqual({ id: expect.any(String), createdAt: expect.any(Date), deletedAt: null })
  const MARK = statement('mark')`
  UPDATE ${users} SET ${setList(users, { deletedAt: sql`now()`, credits: sql`${users.credits} - 7` })}
       WHERE ${users.id} = ${param('id')}`
  expect(await MARK.count(pool, { id: stored?.id })).toBe(1)
})

it('no two statements have one name', () => {
  expect(() => statement('the_same')`SELECT 1`).not.toThrow()
  expect(() => statement('the_same')`SELECT 1`).not.toThrow()
  expect(() => statement('the_same')`SELECT 2`).toThrow('two statements are named the_same')
})
