/** What failing what no backend can do reads of a long queue. */
import { beforeAll, expect, it } from 'vitest'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { patientDatabase, useDatabase } from '../../support/database.js'
import { givenGeneration, givenUser, givenWaiting, MODEL } from '../../support/givens.js'
import { unguarded } from '../../support/unguarded.js'

const context = useDatabase()
const WAITING = 1500

beforeAll(async () => {
  const { db } = context
  // The statistics of a queue that has just been worked off.
  await db.pool.query('ALTER TABLE generations SET (autovacuum_enabled = false)')
  await givenGeneration(db, await givenUser(db))
  await db.pool.query(`UPDATE generations SET status = 'failed', error = 'over', finished_at = now()`)
  await db.pool.query('ANALYZE generations')
  const user = await givenUser(db, { developer: { concurrency: 1000 } })
  await givenWaiting(db, user, { personal: WAITING, create_image: WAITING })
  await givenGeneration(db, await givenUser(db), { sampler: 'deis' })
  const serves = { models: ['f', MODEL.filename], samplers: ['euler_a'], maxSeed: 4294967295, sizeMultiple: 8 }
  await backendRegistry(db).announce('w', 'gpu', true, serves)
  await db.pool.query(`UPDATE backends SET changed_at = now() - interval '61 seconds'`)
})

/** The rows that the reconciler reads and those that it fails, if the models of the backend are these. */
async function pass(models: string[], before = '') {
  // A connection counts its own rows while a transaction is open.
  const one = patientDatabase(context.url, 1)
  const rowsRead = async (): Promise<number> => {
    const { rows } = await one.pool.query(
      `SELECT sum(seq_tup_read + idx_tup_fetch) AS n FROM pg_stat_xact_user_tables WHERE relname IN ('generations', 'users')`,
    )
    return Number(rows[0].n)
  }
  try {
    await one.pool.query('BEGIN')
    await one.pool.query('UPDATE backends SET models = $1', [models])
    if (before) await one.pool.query(before)
    const readBefore = await rowsRead()
    const ended = await reconcileStore(one, { refundFailed: true }).failUnservable()
    const read = (await rowsRead()) - readBefore
    await one.pool.query('ROLLBACK')
    return { ended: ended.map(({ lacking }) => lacking), read }
  } finally {
    await one.pool.end()
  }
}

it.each(['', 'ANALYZE generations; ANALYZE users'])(
  'the reconciler finds the one that no backend can do without reading the queue (statistics: "%s")',
  async (statistics) => {
    const { ended, read } = await pass(['f', MODEL.filename], statistics)
    expect(ended).toEqual(['sampler'])
    expect(read).toBeLessThan(100)
  },
)

it('the reconciler reads no further than the first page of a kind that has not waited for long', async () => {
  // Of the two kinds of that model the first ones are old enough.
  await unguarded(
    context.db,
    `UPDATE generations SET created_at = created_at - interval '61 seconds' WHERE seq IN (
       SELECT min(seq) FROM generations WHERE status = 'queued' AND filename = 'f' GROUP BY lane)`,
  )
  const { ended, read } = await pass([MODEL.filename])
  expect(ended.toSorted()).toEqual(['model', 'model', 'sampler'])
  expect(read).toBeLessThan(2000)
})

it('the reconciler judges 500 kinds a pass at most, and the next pass goes on behind them', async () => {
  const { db } = context
  await db.pool.query('UPDATE backends SET models = NULL')
  await unguarded(db, `UPDATE generations SET filename = 'f' || seq % 700 WHERE filename = 'f' AND status = 'queued'`)
  const { failUnservable } = reconcileStore(db, { refundFailed: true })
  // The one that fails is of the last of 1401 kinds.
  const passes = [await failUnservable(), await failUnservable(), await failUnservable()]
  expect(passes.map((ended) => ended.length)).toEqual([0, 0, 1])
})
