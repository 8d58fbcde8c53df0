import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type ModelVersion, SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { SAMPLERS, type Sampler } from '../../../src/core/generations/generation.js'
import type { ClaimedGeneration, ServedCapabilities } from '../../../src/core/generations/run/ports.js'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { runStore } from '../../../src/db/generations/run.js'
import { HOLD_CLAIMS, useDatabase } from '../../support/database.js'
import { chargesOf, givenGeneration, givenUser, rowOf } from '../../support/givens.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'

const context = useDatabase()
const ANYTHING: ServedCapabilities = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const UNREMARKABLE = { loaded: undefined, error: undefined }
const OTHER_MODEL = SEED_MODELS.at(-1) as ModelVersion
const BY = { worker: 'w1', backend: 'preview:' }
const runs = () => runStore(context.db, { refundFailed: true })
const claim = (serves = ANYTHING) => runs().claim(BY, serves)

beforeEach(async () => {
  await unguarded(context.db, 'DELETE FROM credit_ledger WHERE generation_id IS NOT NULL')
  await context.db.pool.query(
    `DELETE FROM images; DELETE FROM usage; DELETE FROM generations; SELECT setval('create_image_streak', 0)`,
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
  it('takes the first generation in the queue, and each only once however many claim', async () => {
    const waiting = await givenWaiting('personal', 5)
    expect((await claim())?.id).toBe(waiting[0])
    const rest = await Promise.all(Array.from({ length: 12 }, () => claim()))
    expect(rest.flatMap((row) => row?.id ?? []).sort()).toEqual(waiting.slice(1).sort())
  })

  it('takes every fourth generation from the Personal API while one of its own waits', async () => {
    const create = await givenWaiting('create_image', 8)
    const personal = await givenWaiting('personal', 2)
    const order: (string | undefined)[] = []
    for (let i = 0; i < 10; i++) order.push((await claim())?.id)
    expect(order).toEqual([...create.slice(0, 3), personal[0], ...create.slice(3, 6), personal[1], ...create.slice(6)])
  })

  it('takes the next generation from the Personal API after three or more of Create Image', async () => {
    const create = await givenWaiting('create_image', 6)
    for (let i = 0; i < 5; i++) await claim()
    const [personal] = await givenWaiting('personal', 1)
    expect((await claim())?.id).toBe(personal)
    expect((await claim())?.id).toBe(create[5])
  })

  it('gives at least every fourth of those that claim at once one of the Personal API', async () => {
    await givenWaiting('create_image', 20)
    const personal = await givenWaiting('personal', 20)
    const claimed = await Promise.all(Array.from({ length: 28 }, () => claim()))
    expect(new Set(claimed.map((it) => it?.id)).size).toBe(28)
    expect(claimed.filter((it) => personal.includes(it?.id as string)).length).toBeGreaterThanOrEqual(7)
  })

  it('passes over generations that the backend cannot serve', async () => {
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

  it('takes every waiting generation of several kinds once when thirty claim at once', async () => {
    const asked = Array.from({ length: 30 }, (_, n) => ({
      sampler: SAMPLERS[n % 5] as Sampler,
      seed: n % 2 ? 4294967295 : 1,
    }))
    const waiting: string[] = []
    for (const kind of asked) waiting.push((await givenGeneration(context.db, await givenUser(context.db), kind)).id)
    const claimed = await Promise.all(asked.map(() => claim()))
    expect(claimed.map((it) => it?.id).sort()).toEqual(waiting.toSorted())
  })

  it('gives each of those that claim at once a generation, though all have seen the same one first', async () => {
    for (let n = 0; n < 20; n++) await givenGeneration(context.db, await givenUser(context.db), { sampler: 'deis' })
    const samplers: readonly Sampler[] = ['euler', 'heun', 'lms']
    const waiting: string[] = []
    for (const sampler of samplers)
      waiting.push((await givenGeneration(context.db, await givenUser(context.db), { sampler, model: OTHER_MODEL })).id)
    const first = await context.db.pool.connect()
    await first.query(`BEGIN; ${HOLD_CLAIMS}`)
    const claims = samplers.map(() => claim({ ...ANYTHING, models: [OTHER_MODEL.filename] }))
    await until(async () => {
      const { rows } = await first.query(
        `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      return rows[0].count === claims.length
    }, 'all claims wait')
    await first.query('COMMIT')
    first.release()
    expect((await Promise.all(claims)).map((it) => it?.id).toSorted()).toEqual(waiting.toSorted())
  })

  it('finds no generation in an empty queue', async () => {
    expect(await claim()).toBeUndefined()
  })
})

describe('claiming beside another backend', () => {
  interface State {
    readonly failing?: boolean
    readonly yields?: boolean
    /** Whether the generation has failed there. */
    readonly failed?: boolean
  }
  const GPUS = ['gpu0', 'gpu1'] as const

  /** A generation that waits, and two backends in these states. Resolves to who of them may claim it. */
  async function whoMayClaim(states: readonly [State, State], serves = ANYTHING) {
    const [waiting] = await givenWaiting('personal', 1)
    const id = waiting as string
    await context.db.pool.query('DELETE FROM backends')
    for (const [n, { failing = false, failed = false }] of states.entries()) {
      const name = GPUS[n] as string
      await backendRegistry(context.db).announce('w1', name, true, serves, { ...UNREMARKABLE, failing })
      if (!failed) continue
      const generation = (await runs().claim(
        { worker: 'w1', backend: name, failing: true },
        ANYTHING,
      )) as ClaimedGeneration
      await runs().requeue(generation, { reason: 'backend_fault', countTry: false, delayMs: 0 })
    }
    const may: string[] = []
    for (const [n, { failing = false, yields = false }] of states.entries()) {
      const by = { worker: 'w1', backend: GPUS[n] as string, failing, yields }
      const claimed = await runs().claim(by, ANYTHING)
      if (!claimed) continue
      may.push(by.backend)
      await context.db.pool.query("UPDATE generations SET status = 'queued' WHERE id = $1", [id])
    }
    await unguarded(context.db, 'DELETE FROM credit_ledger WHERE generation_id IS NOT NULL')
    await context.db.pool.query('DELETE FROM generations')
    return may
  }

  it.each<[string, State, State, string[]]>([
    ['anything, while both work', {}, {}, ['gpu0', 'gpu1']],
    ['nothing, while it yields to one that works', { failing: true, yields: true }, {}, ['gpu1']],
    ['anything, while both yield', { failing: true, yields: true }, { failing: true, yields: true }, ['gpu0', 'gpu1']],
    ['nothing that it has failed and the other has not', { failed: true }, {}, ['gpu1']],
    [
      'nothing that it has failed, though the other one fails, too',
      { failed: true, failing: true },
      { failing: true },
      ['gpu1'],
    ],
    [
      'what it has failed, once it works again and the other one does not',
      { failed: true },
      { failing: true },
      ['gpu0', 'gpu1'],
    ],
    ['anything that both have failed', { failed: true }, { failed: true }, ['gpu0', 'gpu1']],
    [
      'nothing that both have failed, while it yields to one that works',
      { failed: true, failing: true, yields: true },
      { failed: true },
      ['gpu1'],
    ],
  ])('takes %s', async (_what, one, other, may) => {
    expect(await whoMayClaim([one, other])).toEqual(may)
  })

  it('takes what it has failed if the other one cannot serve it', async () => {
    const failed = { failing: true, yields: true, failed: true }
    expect(await whoMayClaim([failed, {}], { ...ANYTHING, models: [] })).toEqual(['gpu0', 'gpu1'])
  })

  it('leaves nothing that neither of two would take', async () => {
    const states: State[] = [true, false].flatMap((failed) => [
      { failed },
      { failed, failing: true },
      { failed, failing: true, yields: true },
    ])
    for (const [n, one] of states.entries())
      for (const other of states.slice(n))
        expect(await whoMayClaim([one, other]), JSON.stringify([one, other])).not.toEqual([])
  })
})

describe('a claimed attempt', () => {
  it('succeeds once, with its images', async () => {
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

  it('is refunded once when it fails, even if the failure is reported twenty times', async () => {
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

  it('starts and ends no earlier than it was submitted, even if the clock is behind', async () => {
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

  it('keeps its charge when it fails while refunds are switched off', async () => {
    const user = await givenUser(context.db)
    await givenGeneration(context.db, user)
    const claimed = (await claim()) as ClaimedGeneration
    expect(await runStore(context.db, { refundFailed: false }).fail(claimed, 'no')).toBe(true)
    expect(await chargesOf(context.db, user)).toEqual([['charge', -1]])
  })

  it('can change nothing any more once its generation was requeued', async () => {
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

  it('keeps its lease in a statement shared with others, also while its row is locked for a moment', async () => {
    const attempts: ClaimedGeneration[] = []
    for (const _ of await givenWaiting('personal', 4)) attempts.push((await claim()) as ClaimedGeneration)
    const [locked, lost] = attempts as [ClaimedGeneration, ClaimedGeneration]
    await runs().requeue(lost, { reason: 'internal', countTry: false, delayMs: 0 })
    await context.db.pool.query('UPDATE generations SET lease_until = now() WHERE lease_until IS NOT NULL')
    const other = await context.db.pool.connect()
    await other.query('BEGIN')
    await other.query('SELECT FROM generations WHERE id = $1 FOR UPDATE', [locked.id])
    const worker = runs()
    const renewed = Promise.all(attempts.map(({ id, attempt }) => worker.heartbeat(id, attempt)))
    await until(async () => {
      const { rows } = await context.db.pool.query(
        `SELECT count(*)::integer AS n FROM generations WHERE status = 'processing' AND lease_until > now()`,
      )
      return rows[0].n === 2
    }, 'the leases of the others')
    await other.query('COMMIT')
    other.release()
    expect(await renewed).toEqual([true, false, true, true])
  })

  it('waits for the disk when it begins and ends, and not when its lease is renewed', async () => {
    const { pool } = context.db
    await pool.query(`
      CREATE TABLE seen_writes (n bigint GENERATED ALWAYS AS IDENTITY, status text, synchronous_commit text);
      CREATE FUNCTION see_write() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO seen_writes (status, synchronous_commit) VALUES (NEW.status, current_setting('synchronous_commit'));
        RETURN NEW;
      END $$;
      CREATE TRIGGER see_write BEFORE UPDATE ON generations FOR EACH ROW EXECUTE FUNCTION see_write()`)
    onTestFinished(async () => {
      await pool.query('DROP TRIGGER see_write ON generations; DROP FUNCTION see_write; DROP TABLE seen_writes')
    })
    await givenWaiting('personal', 2)
    const [one, other] = [(await claim()) as ClaimedGeneration, (await claim()) as ClaimedGeneration]
    const worker = runs()
    await worker.heartbeat(one.id, one.attempt)
    await Promise.all([one, other].map(({ id, attempt }) => worker.heartbeat(id, attempt)))
    await worker.succeed(one, images(one))
    const { rows } = await pool.query('SELECT status, synchronous_commit AS synced FROM seen_writes ORDER BY n')
    const renewed = { status: 'processing', synced: 'off' }
    const begun = { status: 'processing', synced: 'on' }
    expect(rows).toEqual([begun, begun, renewed, renewed, renewed, { status: 'succeeded', synced: 'on' }])
  })

  it('keeps no lease of an attempt whose generation runs again in the same worker', async () => {
    await givenWaiting('personal', 1)
    const stale = (await claim()) as ClaimedGeneration
    await runs().requeue(stale, { reason: 'internal', countTry: false, delayMs: 0 })
    const fresh = (await claim()) as ClaimedGeneration
    const worker = runs()
    const renewed = [stale, fresh].map(({ id, attempt }) => worker.heartbeat(id, attempt))
    expect(await Promise.all(renewed)).toEqual([false, true])
  })

  it('is counted for its owner, instead of charged, if it is metered', async () => {
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
