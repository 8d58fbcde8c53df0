import { beforeAll, expect, it } from 'vitest'
import { type Database, Rollback } from '../../src/db/client.js'
import { inTransaction } from '../../src/db/operator/operator-actions.js'
import { useDatabase } from '../support/database.js'

const held = useDatabase()
beforeAll(() => held.db.pool.query('CREATE TABLE notes (note text)'))

it('a part of a transaction that is undone takes all of its own work with it, and no other', async () => {
  const { db } = held
  const note = (on: Database, text: string) => on.pool.query('INSERT INTO notes VALUES ($1)', [text])
  const undone = (on: Database, work: (within: Database) => Promise<unknown>) =>
    inTransaction(on, async (within) => {
      await work(within)
      throw new Rollback()
    }).catch((error) => expect(error).toBeInstanceOf(Rollback))
  await inTransaction(db, async (on) => {
    await note(on, 'kept before')
    await undone(on, async (outer) => {
      await note(outer, 'undone with its part')
      await undone(outer, (inner) => note(inner, 'undone first'))
    })
    await note(on, 'kept after')
  })
  const { rows } = await db.pool.query('SELECT note FROM notes')
  expect(rows.map((row) => row.note)).toEqual(['kept before', 'kept after'])
})
