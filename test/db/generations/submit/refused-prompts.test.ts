import { expect, it } from 'vitest'
import { refusedPromptNotes } from '../../../../src/db/generations/submit/refused-prompts.js'
import { useDatabase } from '../../../support/database.js'
import { givenUser } from '../../../support/givens.js'
import { until } from '../../../support/until.js'

const context = useDatabase()

it('of an account that is refused many prompts at once, one connection is at work, and some are kept', async () => {
  const { db } = context
  const { id: accountId } = await givenUser(db)
  const faults: unknown[] = []
  const notes = refusedPromptNotes(db, (error) => faults.push(error))
  const holder = await db.pool.connect()
  await holder.query('SELECT pg_advisory_lock(hashtextextended($1, 52))', [accountId])
  // More than the pool has connections.
  for (let n = 0; n < 100; n++)
    notes.note({ accountId, parameter: 'prompt', category: 'minors', matched: [], prompt: `a prompt ${n}` })
  const waiting = async () =>
    (
      await holder.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`,
      )
    ).rowCount
  await until(async () => (await waiting()) !== 0, 'the first one waits for the lock')
  expect((await db.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  expect(await waiting()).toBe(1)
  // Ends its session, and so what it locked.
  holder.release(true)
  const kept = async () => (await db.pool.query('SELECT FROM refused_prompts WHERE user_id = $1', [accountId])).rowCount
  await until(async () => (await kept()) === 10, 'as many as are kept of a flood')
  expect(faults).toEqual([])
})
