import { beforeAll, expect, it } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { ServedCapabilities } from '../../../src/core/generations/run/ports.js'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { runStore } from '../../../src/db/generations/run.js'
import { patientDatabase, useDatabase } from '../../support/database.js'
import { givenGeneration, givenUser, givenWaiting, MODEL } from '../../support/givens.js'

const context = useDatabase()
const ANYTHING: ServedCapabilities = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
/** The waiting ones of Create Image, in order; the last has another sampler and model. */
let waiting: string[]

beforeAll(async () => {
  const { db } = context
  // The statistics of a queue that has just been worked off: then all indexes look equally cheap.
  await db.pool.query('ALTER TABLE generations SET (autovacuum_enabled = false)')
  await givenGeneration(db, await givenUser(db))
  await db.pool.query(`UPDATE generations SET status = 'failed', error = 'over', finished_at = now()`)
  await db.pool.query('ANALYZE generations')
  const user = await givenUser(db, { developer: { concurrency: 1000 } })
  const { create_image: many } = await givenWaiting(db, user, { personal: 1000, create_image: 1000 })
  const last = await givenGeneration(db, await givenUser(db), { lane: 'create_image', sampler: 'deis' })
  waiting = [...many, last.id]
})

const B = 'b.safetensors'
const HOLDS_B = { filename: B, maxDelayMs: 60_000, msPerPixelStep: 0.001 }
const CASES = [
  { where: 'nothing fits', serves: { models: ['none'] }, place: -1 },
  { where: 'only the last one fits', serves: { models: ['none', MODEL.filename] }, place: 1000 },
  { where: 'all want another sampler', serves: { samplers: ['heun'] as const }, place: -1 },
  { where: 'the last one has another sampler', serves: { samplers: ['deis'] as const }, place: 1000 },
  { where: 'all but the last one is overdue', others: `deadline_at = now()`, place: 1000 },
  {
    where: 'all but the last one needs a large seed',
    others: 'seed = 3000000000',
    serves: { maxSeed: 2147483647 },
    place: 1000,
  },
  { where: 'all but the last one has an odd size', others: 'width = 840', serves: { sizeMultiple: 64 }, place: 1000 },
  {
    where: 'all but the last one has a high cfg_scale',
    others: 'cfg_scale = 21',
    serves: { maxCfgScale: 20 },
    place: 1000,
  },
  { where: 'all but the first takes the loaded model', loaded: 1, holds: HOLDS_B, place: 1 },
  { where: 'only the last takes the loaded model', loaded: 999, holds: HOLDS_B, place: 999 },
  {
    where: 'all of the loaded model would take too long',
    loaded: 1,
    holds: { ...HOLDS_B, msPerPixelStep: 1 },
    place: 0,
  },
  {
    where: 'the first one was passed over for long enough',
    loaded: 1,
    holds: { ...HOLDS_B, maxDelayMs: 0 },
    place: 0,
  },
  {
    where: 'those of another model come first, and those that fit have hundreds of kinds',
    others: `sampler = ('{${SAMPLERS}}'::text[])[1 + seq % ${SAMPLERS.length}], width = 832 + 8 * (seq % 5),
      seed = 1000000000 * (seq % 4), cfg_scale = 10 * (1 + seq % 3)`,
    loaded: 100,
    serves: { models: ['none', B] },
    place: 100,
  },
  {
    where: 'another backend should draw all but the last one',
    other: SAMPLERS.filter((sampler) => sampler !== 'deis'),
    place: 1000,
  },
  // The last one, because a rollback does not undo all that ANALYZE changes.
  { where: 'the first one fits', serves: { models: ['f'] }, place: 0, analyzed: true },
]

it.each(CASES.map((given) => [given.where, given] as const))(
  'a claim does not read the whole queue where %s',
  async (_where, given) => {
    const { others, loaded, holds, analyzed, other, place } = given
    // A connection counts its own rows while a transaction is open.
    const one = patientDatabase(context.url, 1)
    const rowsRead = async (): Promise<number> => {
      const { rows } = await one.pool.query(
        `SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relname = 'generations'`,
      )
      return rows[0].n
    }
    try {
      await one.pool.query('BEGIN')
      if (others)
        await one.pool.query(`UPDATE generations SET ${others} WHERE status = 'queued' AND id <> $1`, [waiting.at(-1)])
      if (loaded)
        await one.pool.query(`UPDATE generations SET filename = $1 WHERE id = ANY ($2)`, [B, waiting.slice(loaded, -1)])
      if (analyzed) await one.pool.query('ANALYZE generations')
      if (other) await backendRegistry(one).announce('w2', 'preview:', true, { ...ANYTHING, samplers: other })
      const before = await rowsRead()
      const by = { worker: 'w1', backend: 'preview:', yields: other !== undefined }
      const claimed = await runStore(one, { refundFailed: true }).claim(by, { ...ANYTHING, ...given.serves }, holds)
      const read = (await rowsRead()) - before
      await one.pool.query(`ROLLBACK; SELECT setval('create_image_streak', 0)`)
      expect(claimed?.id).toBe(waiting[place === -1 ? waiting.length : place])
      expect(read).toBeLessThan(300)
    } finally {
      await one.pool.end()
    }
  },
)

it('claims are planned once, not each time', async () => {
  const one = patientDatabase(context.url, 1)
  try {
    await one.pool.query('BEGIN')
    // Postgres tries a plan of its own for each of the first five.
    for (let n = 0; n < 10; n++)
      await runStore(one, { refundFailed: true }).claim({ worker: 'w1', backend: 'preview:' }, ANYTHING, HOLDS_B)
    const { rows } = await one.pool.query(
      `SELECT custom_plans::integer FROM pg_prepared_statements WHERE name = 'claim_generation'`,
    )
    await one.pool.query('ROLLBACK')
    expect(rows).toEqual([{ custom_plans: 5 }])
  } finally {
    await one.pool.end()
  }
})
