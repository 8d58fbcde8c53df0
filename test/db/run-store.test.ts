import { beforeEach, describe, expect, it } from 'vitest'
import { createDatabase } from '../../src/db/client.js'
import { runStore } from '../../src/db/run-store.js'
import type { ClaimedGeneration, Serves } from '../../src/generation/run/claim.js'
import { SAMPLERS, type Sampler } from '../../src/generation/sampler.js'
import { useDatabase } from '../support/database.js'
import {
  chargesOf,
  givenGeneration,
  givenWaiting as givenManyWaiting,
  givenUser,
  MODEL,
  rowOf,
} from '../support/givens.js'
import { unguarded } from '../support/unguarded.js'

const context = useDatabase()
const ANYTHING: Serves = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const BY = { worker: 'w1', backend: 'preview:' }
const runs = () => runStore(context.db, { refundFailed: true })
const claim = (serves = ANYTHING) => runs().claim(BY, serves)

beforeEach(async () => {
  await unguarded(context.db, 'DELETE FROM credit_ledger WHERE generation_id IS NOT NULL')
  await context.db.pool.query(
    'DELETE FROM images; DELETE FROM usage; DELETE FROM generations; UPDATE queue_turn SET create_image_streak = 0',
  )
})

const images = (generation: ClaimedGeneration) =>
  generation.slugs.map((slug, i) => ({
    slug,
    seed: generation.seed + i,
    width: 832,
    height: 1216,
    bytes: 10,
    sha256: 'x',
  }))

async function givenWaiting(lane: 'personal' | 'create_image', count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const user = await givenUser(context.db)
    ids.push((await givenGeneration(context.db, user, { lane })).id)
  }
  return ids
}

describe('claiming', () => {
  it('takes the first in order, and each only once however many claim', async () => {
    const waiting = await givenWaiting('personal', 5)
    expect((await claim())?.id).toBe(waiting[0])
    const rest = await Promise.all(Array.from({ length: 12 }, () => claim()))
    expect(rest.flatMap((row) => row?.id ?? []).sort()).toEqual(waiting.slice(1).sort())
  })

  it('starts at least one of four for the Personal API while it has one waiting', async () => {
    const create = await givenWaiting('create_image', 8)
    const personal = await givenWaiting('personal', 2)
    const order: (string | undefined)[] = []
    for (let i = 0; i < 10; i++) order.push((await claim())?.id)
    expect(order).toEqual([...create.slice(0, 3), personal[0], ...create.slice(3, 6), personal[1], ...create.slice(6)])
  })

  it('lets the Personal API in at once when it has waited through a run of Create Image', async () => {
    const create = await givenWaiting('create_image', 6)
    for (let i = 0; i < 5; i++) await claim()
    const [personal] = await givenWaiting('personal', 1)
    expect((await claim())?.id).toBe(personal)
    expect((await claim())?.id).toBe(create[5])
  })

  it('passes over what the backend cannot serve', async () => {
    const [first, second, third] = [
      await givenUser(context.db),
      await givenUser(context.db),
      await givenUser(context.db),
    ]
    await givenGeneration(context.db, first, { sampler: 'deis' })
    await givenGeneration(context.db, second, { seed: 4294967295 })
    const fits = await givenGeneration(context.db, third)
    const serves = {
      models: [fits.filename],
      samplers: SAMPLERS.filter((s) => s !== 'deis'),
      maxSeed: 2147483647,
      sizeMultiple: 8,
    }
    expect((await claim(serves))?.id).toBe(fits.id)
    expect(await claim(serves)).toBeUndefined()
    expect(await claim({ ...ANYTHING, models: ['other.safetensors'] })).toBeUndefined()
  })

  /** The statistics of a queue that has just been worked off: then all indexes look equally cheap. */
  async function believeQueueEmpty(): Promise<void> {
    const { pool } = context.db
    await pool.query('ALTER TABLE generations SET (autovacuum_enabled = false)')
    await givenGeneration(context.db, await givenUser(context.db))
    await pool.query(`UPDATE generations SET status = 'failed', error = 'over', finished_at = now()`)
    await pool.query('ANALYZE generations')
  }

  const B = 'b.safetensors'
  const HOLDS_B = { filename: B, maxDelayMs: 60_000, msPerPixelStep: 0.001 }
  it.each([
    { where: 'nothing fits', serves: { models: ['none'] }, place: -1 },
    { where: 'only the last one fits', serves: { models: ['none', MODEL.filename] }, place: 1000 },
    { where: 'the first one fits', serves: { models: ['f'] }, place: 0, analyzed: true },
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
  ])('does not go through the whole queue where $where', async (given) => {
    await believeQueueEmpty()
    const user = await givenUser(context.db, { developer: { concurrency: 1000 } })
    const { create_image: many } = await givenManyWaiting(context.db, user, { personal: 1000, create_image: 1000 })
    const last = await givenGeneration(context.db, await givenUser(context.db), {
      lane: 'create_image',
      sampler: 'deis',
    })
    const { others, loaded, holds, analyzed, place } = given
    if (others)
      await context.db.pool.query(`UPDATE generations SET ${others} WHERE status = 'queued' AND id <> $1`, [last.id])
    if (loaded)
      await context.db.pool.query(`UPDATE generations SET filename = $1 WHERE id = ANY ($2)`, [B, many.slice(loaded)])
    if (analyzed) await context.db.pool.query('ANALYZE generations')
    // A connection counts its own rows while a transaction is open.
    const one = createDatabase(context.url, { maxConnections: 1, onError: () => undefined })
    try {
      await one.pool.query('BEGIN')
      const claimed = await runStore(one, { refundFailed: true }).claim(BY, { ...ANYTHING, ...given.serves }, holds)
      const { rows } = await one.pool.query(
        `SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relname = 'generations'`,
      )
      await one.pool.query('COMMIT')
      expect(claimed?.id).toBe([...many, last.id][place])
      expect(rows[0].n).toBeLessThan(300)
    } finally {
      await one.pool.end()
    }
  })

  it('finds the first of each kind, however many claim at once', async () => {
    const asked = Array.from({ length: 30 }, (_, n) => ({
      sampler: SAMPLERS[n % 5] as Sampler,
      seed: n % 2 ? 4294967295 : 1,
    }))
    const waiting: string[] = []
    for (const kind of asked) waiting.push((await givenGeneration(context.db, await givenUser(context.db), kind)).id)
    const claimed = await Promise.all(asked.map(() => claim()))
    expect(claimed.map((it) => it?.id).sort()).toEqual(waiting.toSorted())
  })

  it('finds nothing in an empty queue', async () => {
    expect(await claim()).toBeUndefined()
  })
})

describe('a claimed attempt', () => {
  it('succeeds with its images, once', async () => {
    const user = await givenUser(context.db)
    const { id } = await givenGeneration(context.db, user, { batchSize: 2 })
    const claimed = (await claim()) as ClaimedGeneration
    expect(await runs().succeed(claimed, images(claimed))).toBe(true)
    expect(await runs().succeed(claimed, images(claimed))).toBe(true) // the first answer was lost
    expect(await runs().fail(claimed, 'late')).toBe(false)
    expect(await rowOf(context.db, { id })).toMatchObject({ status: 'succeeded', lease_until: null })
    const { rows } = await context.db.pool.query(
      'SELECT slug, idx, seed FROM images WHERE generation_id = $1 ORDER BY idx',
      [id],
    )
    expect(rows).toEqual(claimed.slugs.map((slug, idx) => ({ slug, idx, seed: 42 + idx })))
    expect(await chargesOf(context.db, user)).toEqual([['charge', -2]])
  })

  it('is refunded once when it fails, however often that is said', async () => {
    const user = await givenUser(context.db)
    await givenGeneration(context.db, user)
    const claimed = (await claim()) as ClaimedGeneration
    const said = await Promise.all(Array.from({ length: 20 }, () => runs().fail(claimed, 'The GPU melted.')))
    expect(said.every(Boolean)).toBe(true)
    expect(await chargesOf(context.db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
    expect(await rowOf(context.db, claimed)).toMatchObject({ status: 'failed', error: 'The GPU melted.' })
  })

  it('starts and ends no earlier than it was submitted, also by a clock that is behind', async () => {
    const user = await givenUser(context.db, { developer: { concurrency: 1 } })
    await givenGeneration(context.db, user)
    await unguarded(context.db, `UPDATE generations SET created_at = now() + interval '1 minute'`)
    const claimed = (await claim()) as ClaimedGeneration
    expect(await runs().succeed(claimed, images(claimed))).toBe(true)
    const { created_at: createdAt, started_at: startedAt, finished_at: finishedAt } = await rowOf(context.db, claimed)
    expect([startedAt, finishedAt]).toEqual([createdAt, createdAt])
    const { rows } = await context.db.pool.query(
      `SELECT i.created_at AS shown, u.created_at AS billed FROM images i JOIN usage u USING (generation_id, idx)`,
    )
    expect(rows).toEqual([{ shown: createdAt, billed: createdAt }])
  })

  it('keeps the charge when refunds are switched off', async () => {
    const user = await givenUser(context.db)
    await givenGeneration(context.db, user)
    const claimed = (await claim()) as ClaimedGeneration
    expect(await runStore(context.db, { refundFailed: false }).fail(claimed, 'no')).toBe(true)
    expect(await chargesOf(context.db, user)).toEqual([['charge', -1]])
  })

  it('loses every right once it was requeued', async () => {
    await givenGeneration(context.db, await givenUser(context.db))
    const stale = (await claim()) as ClaimedGeneration
    expect(await runs().requeue(stale, { reason: 'internal', countTry: true, delayMs: 0 })).toBe(2)
    expect(await runs().heartbeat(stale.id, stale.attempt)).toBe(false)
    const fresh = (await claim()) as ClaimedGeneration
    expect(fresh).toMatchObject({ id: stale.id, attempt: 2, tries: 1, slugs: stale.slugs, seed: stale.seed })
    expect(await runs().succeed(stale, images(stale))).toBe(false)
    expect(await runs().fail(stale, 'stale')).toBe(false)
    expect(await runs().heartbeat(fresh.id, fresh.attempt)).toBe(true)
    expect(await runs().succeed(fresh, images(fresh))).toBe(true)
  })

  it('is counted for its owner instead of charged when metered', async () => {
    const user = await givenUser(context.db, { developer: { concurrency: 4 } })
    await givenGeneration(context.db, user, { batchSize: 2 })
    const claimed = (await claim()) as ClaimedGeneration
    await runs().succeed(claimed, images(claimed))
    const { rows } = await context.db.pool.query('SELECT idx, api_key_id FROM usage WHERE user_id = $1 ORDER BY idx', [
      user.id,
    ])
    expect(rows).toEqual([
      { idx: 0, api_key_id: user.keyId },
      { idx: 1, api_key_id: user.keyId },
    ])
  })
})

describe('an ended generation', () => {
  it('cannot be changed by anyone', async () => {
    await givenGeneration(context.db, await givenUser(context.db))
    const claimed = (await claim()) as ClaimedGeneration
    await runs().fail(claimed, 'over')
    const change = (set: string) => context.db.pool.query(`UPDATE generations SET ${set} WHERE id = $1`, [claimed.id])
    await expect(change(`status = 'queued', error = NULL, finished_at = NULL`)).rejects.toThrow(/has ended/)
    await expect(change(`error = 'other'`)).rejects.toThrow(/has ended/)
    await expect(change(`seed = 1`)).rejects.toThrow(/has ended/)
  })
})
