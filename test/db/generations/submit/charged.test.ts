import { describe, expect, it } from 'vitest'
import type { Generation } from '../../../../src/core/generations/generation.js'
import { SUBMIT_LOCK_MS } from '../../../../src/core/generations/ports.js'
import { operatorUserStore } from '../../../../src/db/accounts/accounts.js'
import { cancelStore } from '../../../../src/db/generations/end.js'
import { operatorGenerationStore } from '../../../../src/db/generations/history.js'
import { submissionStore } from '../../../../src/db/generations/submit/charged.js'
import { idempotencyStore } from '../../../../src/db/generations/submit/idempotency.js'
import { useDatabase } from '../../../support/database.js'
import {
  aGeneration,
  chargesOf,
  creditsOf,
  type GivenUser,
  givenGeneration,
  givenUser,
  MODEL,
  rowOf,
} from '../../../support/givens.js'
import { until } from '../../../support/until.js'

const context = useDatabase()
const OPTIONS = { deadlineSeconds: 60, idempotencyKey: undefined }

/** Runs a statement in a transaction that stays open until what this resolves to is called. */
async function holding(statement: string, values: unknown[]): Promise<() => Promise<void>> {
  const client = await context.db.pool.connect()
  await client.query('BEGIN')
  await client.query(statement, values)
  return async () => {
    await client.query('COMMIT')
    client.release()
  }
}

/** How many wait for somebody's lock. */
async function waitingNow(): Promise<number> {
  const { rows } = await context.db.pool.query(
    `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return rows[0].n
}
const waiting = (count: number) => until(async () => (await waitingNow()) === count, `${count} that wait for a lock`)

describe('storing a charged generation', () => {
  it('debits the price, stores the row and writes the ledger', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 10 })
    const generation = aGeneration(user, { batchSize: 3 })
    const stored = await submissionStore(db).insert(generation, OPTIONS)
    expect(stored).toMatchObject({ outcome: 'inserted', creditsLeft: 7 })
    expect(await rowOf(db, generation)).toMatchObject({
      status: 'queued',
      attempt: 1,
      cost: 3,
      slugs: generation.slugs,
    })
    expect(await chargesOf(db, user)).toEqual([['charge', -3]])
  })

  it('accepts one of fifty submits at once and charges once', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 100 })
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => submissionStore(db).insert(aGeneration(user), OPTIONS)),
    )
    expect(outcomes.filter(({ outcome }) => outcome === 'inserted')).toHaveLength(1)
    expect(outcomes.filter(({ outcome }) => outcome === 'active')).toHaveLength(49)
    expect(await creditsOf(db, user)).toBe(99)
  })

  it('answers the losers of a race for the last credit that one is active, not that credits are missing', async () => {
    const { db } = context
    for (let round = 0; round < 10; round++) {
      const user = await givenUser(db, { credits: 1 })
      const outcomes = await Promise.all(
        Array.from({ length: 6 }, () => submissionStore(db).insert(aGeneration(user), OPTIONS)),
      )
      expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual([...Array(5).fill('active'), 'inserted'])
    }
  })

  it('reports what is missing and keeps nothing when the credits do not suffice', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 1 })
    const generation = aGeneration(user, { batchSize: 2 })
    expect(await submissionStore(db).insert(generation, OPTIONS)).toEqual({ outcome: 'insufficient', held: 1 })
    expect(await rowOf(db, generation)).toBeUndefined()
    expect(await chargesOf(db, user)).toEqual([])
  })

  it('names the active generation if credits are missing, too', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 1 })
    const active = await givenGeneration(db, user)
    expect(await submissionStore(db).insert(aGeneration(user), OPTIONS)).toEqual({
      outcome: 'active',
      generationId: active.id,
    })
  })

  it('is possible again after the active generation has ended', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 1 })
    const first = await givenGeneration(db, user)
    expect(await cancelStore(db).cancel(first.id, 'Canceled.', { onlyQueued: false })).toMatchObject({ id: first.id })
    expect(await submissionStore(db).insert(aGeneration(user), OPTIONS)).toMatchObject({ outcome: 'inserted' })
    expect(await chargesOf(db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
      ['charge', -1],
    ])
  })
})

describe('charged generations that are submitted at once', () => {
  it('are stored together, each with the outcome that it would have had alone', async () => {
    const { db } = context
    const keys = idempotencyStore(db)
    const [rich, other, poor, busy, revoked, idempotent, late] = await Promise.all([
      givenUser(db, { credits: 10 }),
      givenUser(db, { credits: 10 }),
      givenUser(db, { credits: 1 }),
      givenUser(db, { credits: 10 }),
      givenUser(db),
      givenUser(db, { credits: 10 }),
      givenUser(db),
    ])
    const active = await givenGeneration(db, busy)
    await db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE user_id = $1', [revoked.id])
    const reserved = aGeneration(idempotent)
    await keys.reserve(idempotent.id, 'k', Buffer.alloc(32), reserved.id)
    const store = submissionStore(db)
    const outcomes = await Promise.all([
      store.insert(aGeneration(rich), OPTIONS),
      store.insert(aGeneration(rich), OPTIONS),
      store.insert(aGeneration(other, { batchSize: 2 }), OPTIONS),
      store.insert(aGeneration(poor, { batchSize: 2 }), OPTIONS),
      store.insert(aGeneration(busy), OPTIONS),
      store.insert(aGeneration(revoked), OPTIONS),
      store.insert(reserved, { ...OPTIONS, idempotencyKey: 'k' }),
      store.insert(aGeneration(late), { ...OPTIONS, idempotencyKey: 'never reserved' }),
    ])
    const [one, two, ...others] = outcomes
    expect([one?.outcome, two?.outcome].sort()).toEqual(['active', 'inserted'])
    expect(others).toEqual([
      { outcome: 'inserted', createdAt: expect.any(Date), creditsLeft: 8 },
      { outcome: 'insufficient', held: 1 },
      { outcome: 'active', generationId: active.id },
      { outcome: 'gone' },
      { outcome: 'inserted', createdAt: expect.any(Date), creditsLeft: 9 },
      { outcome: 'reservation_lost' },
    ])
    // One transaction, and so one time.
    expect(new Set(outcomes.map((it) => 'createdAt' in it && +it.createdAt)).size).toBe(2)
    expect(await Promise.all([rich, other, poor, busy].map((user) => creditsOf(db, user)))).toEqual([9, 8, 1, 9])
    expect(await chargesOf(db, other)).toEqual([['charge', -2]])
    expect(await keys.find(idempotent.id, 'k')).toBe(reserved.id)
  })

  it('do not wait for a generation whose account somebody else has locked', async () => {
    const { db } = context
    const [locked, free] = await Promise.all([givenUser(db, { credits: 10 }), givenUser(db, { credits: 10 })])
    const commit = await holding('UPDATE users SET credits = credits + 5 WHERE id = $1', [locked.id])
    const store = submissionStore(db)
    const late = store.insert(aGeneration(locked), OPTIONS)
    expect(await store.insert(aGeneration(free), OPTIONS)).toMatchObject({ outcome: 'inserted', creditsLeft: 9 })
    await waiting(1)
    await commit()
    expect(await late).toMatchObject({ outcome: 'inserted', creditsLeft: 14 })
  })

  it('are one per account, however many statements they take', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 1000 })
    const store = submissionStore(db)
    const outcomes = await Promise.all(Array.from({ length: 250 }, () => store.insert(aGeneration(user), OPTIONS)))
    expect(outcomes.filter(({ outcome }) => outcome === 'inserted')).toHaveLength(1)
    expect(outcomes.filter(({ outcome }) => outcome === 'active')).toHaveLength(249)
    expect(await creditsOf(db, user)).toBe(999)
  })

  it('are stored although Postgres refuses one of them', async () => {
    const { db } = context
    const users = await Promise.all([1, 2, 3].map(() => givenUser(db, { credits: 10 })))
    const [refused, ...fine] = users.map((user, n) => aGeneration(user, n === 0 ? { seed: 2 ** 32 } : {}))
    const store = submissionStore(db)
    const storing = fine.map((generation) => store.insert(generation, OPTIONS))
    await expect(store.insert(refused as Generation, OPTIONS)).rejects.toMatchObject({
      constraint: 'generations_seed_check',
    })
    expect(await Promise.all(storing)).toEqual(
      fine.map(() => ({ outcome: 'inserted', createdAt: expect.any(Date), creditsLeft: 9 })),
    )
    expect(await Promise.all(users.map((user) => creditsOf(db, user)))).toEqual([10, 9, 9])
  })
})

describe('storing a metered generation', () => {
  it('charges nothing and stops at the key’s concurrency, also for submits at once', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 0, subscription: null, developer: { concurrency: 3 } })
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, () => submissionStore(db).insert(aGeneration(user), OPTIONS)),
    )
    expect(outcomes.filter(({ outcome }) => outcome === 'inserted')).toHaveLength(3)
    expect(outcomes.filter(({ outcome }) => outcome === 'too_many')).toHaveLength(9)
    expect(await chargesOf(db, user)).toEqual([])
  })
})

describe('metered generations of one key that are submitted at once', () => {
  it('are stored together, each with the outcome that it would have had alone', async () => {
    const { db } = context
    const keys = idempotencyStore(db)
    const user = await givenUser(db, { developer: { concurrency: 3 } })
    await givenGeneration(db, user)
    const reserved = aGeneration(user)
    await keys.reserve(user.id, 'k', Buffer.alloc(32), reserved.id)
    const tooLate = aGeneration(user)
    await keys.reserve(user.id, 'too late', Buffer.alloc(32), tooLate.id)
    const store = submissionStore(db)
    const outcomes = await Promise.all([
      store.insert(aGeneration(user), { ...OPTIONS, idempotencyKey: 'never reserved' }),
      store.insert(aGeneration(user), OPTIONS),
      store.insert(reserved, { ...OPTIONS, idempotencyKey: 'k' }),
      store.insert(tooLate, { ...OPTIONS, idempotencyKey: 'too late' }),
      store.insert(aGeneration(user), OPTIONS),
    ])
    expect(outcomes).toEqual([
      { outcome: 'reservation_lost' },
      { outcome: 'inserted', createdAt: expect.any(Date), creditsLeft: 0 },
      { outcome: 'inserted', createdAt: expect.any(Date), creditsLeft: 0 },
      { outcome: 'too_many', limit: 3 },
      { outcome: 'too_many', limit: 3 },
    ])
    // One transaction, and so one time.
    expect(new Set(outcomes.flatMap((it) => ('createdAt' in it ? [+it.createdAt] : []))).size).toBe(1)
    expect(await keys.find(user.id, 'k')).toBe(reserved.id)
    expect(await keys.find(user.id, 'too late')).toBeUndefined()
  })

  it('hold one connection while they wait for their key, and keep no other key waiting', async () => {
    const { db } = context
    const [busy, other] = [
      await givenUser(db, { developer: { concurrency: 100 } }),
      await givenUser(db, { developer: { concurrency: 100 } }),
    ]
    const store = submissionStore(db)
    const insert = (user: GivenUser) => store.insert(aGeneration(user), OPTIONS)
    const release = await holding('SELECT FROM api_keys WHERE user_id = $1 FOR UPDATE', [busy.id])
    const first = insert(busy)
    await waiting(1)
    const storing = [first, ...Array.from({ length: 20 }, () => insert(busy))]
    expect(await insert(other)).toMatchObject({ outcome: 'inserted' })
    expect(await waitingNow()).toBe(1)
    await release()
    for (const outcome of await Promise.all(storing)) expect(outcome).toMatchObject({ outcome: 'inserted' })
  })

  it('are stored although Postgres refuses two of them, over one connection at a time', async () => {
    const { db } = context
    const user = await givenUser(db, { developer: { concurrency: 100 } })
    const store = submissionStore(db)
    let [lent, mostLent] = [0, 0]
    const connect = db.pool.connect.bind(db.pool)
    db.pool.connect = async () => {
      const client = await connect()
      mostLent = Math.max(mostLent, ++lent)
      const release = client.release.bind(client)
      client.release = (error) => {
        lent--
        release(error)
      }
      return client
    }
    try {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, n) =>
          store.insert(aGeneration(user, n === 7 || n === 30 ? { seed: 2 ** 32 } : {}), OPTIONS),
        ),
      )
      const refused = outcomes.flatMap((it, n) => (it.status === 'rejected' ? [[n, it.reason.constraint]] : []))
      expect(refused).toEqual([7, 30].map((n) => [n, 'generations_seed_check']))
      for (const it of outcomes) if (it.status === 'fulfilled') expect(it.value).toMatchObject({ outcome: 'inserted' })
      expect(mostLent).toBe(1)
    } finally {
      db.pool.connect = connect
    }
  })
})

describe.each([
  ['charged', undefined],
  ['metered', { concurrency: 1 }],
])('a %s generation of somebody who may no longer', (_kind, developer) => {
  it.each([
    ['their key is revoked', 'UPDATE api_keys SET revoked_at = now() WHERE user_id = $1'],
    ['they are deleted', 'UPDATE users SET deleted_at = now() WHERE id = $1'],
  ])('is not stored after %s, even if it waited for that', async (_what, close) => {
    const { db } = context
    const user = await givenUser(db, { ...(developer && { developer }) })
    const commit = await holding(close, [user.id])
    const late = submissionStore(db).insert(aGeneration(user), OPTIONS)
    await waiting(1)
    await commit()
    expect(await late).toEqual({ outcome: 'gone' })
    expect(await submissionStore(db).insert(aGeneration(user), OPTIONS)).toEqual({ outcome: 'gone' })
    expect(await chargesOf(db, user)).toEqual([])
  })

  it('is stored before a deletion of its user that comes later, so that the deletion can cancel it', async () => {
    const { db } = context
    const user = await givenUser(db, { ...(developer && { developer }) })
    const release = await holding('SELECT FROM model_versions WHERE id = $1 FOR UPDATE', [MODEL.id])
    const storing = submissionStore(db).insert(aGeneration(user), OPTIONS)
    await waiting(1)
    const deleting = operatorUserStore(db).delete(user.id)
    await waiting(2)
    await release()
    expect(await storing).toMatchObject({ outcome: 'inserted' })
    await deleting
    expect(await operatorGenerationStore(db).activeOf(user.id)).toHaveLength(1)
  })
})

describe('an idempotency key', () => {
  const hash = (text: string) => Buffer.alloc(32, text)

  it('is reserved for the first submit, in flight for the next, and then answered with the stored generation', async () => {
    const { db } = context
    const keys = idempotencyStore(db)
    const user = await givenUser(db)
    const generation = aGeneration(user)
    expect(await keys.reserve(user.id, 'k', hash('a'), generation.id)).toEqual({ outcome: 'reserved' })
    expect(await keys.reserve(user.id, 'k', hash('a'), 'gen_other')).toEqual({ outcome: 'in_flight' })
    expect(await keys.reserve(user.id, 'k', hash('b'), 'gen_other')).toEqual({ outcome: 'mismatch' })
    await submissionStore(db).insert(generation, { ...OPTIONS, idempotencyKey: 'k' })
    expect(await keys.reserve(user.id, 'k', hash('a'), 'gen_other')).toMatchObject({
      outcome: 'replay',
      generation: { id: generation.id, seed: 42, cost: 1 },
    })
  })

  it('is free after a refusal, but not after its generation was stored', async () => {
    const { db } = context
    const keys = idempotencyStore(db)
    const user = await givenUser(db)
    await keys.reserve(user.id, 'k', hash('a'), 'gen_refused')
    await keys.release(user.id, 'k', 'gen_refused')
    const generation = aGeneration(user)
    expect(await keys.reserve(user.id, 'k', hash('b'), generation.id)).toEqual({ outcome: 'reserved' })
    await submissionStore(db).insert(generation, { ...OPTIONS, idempotencyKey: 'k' })
    await keys.release(user.id, 'k', generation.id)
    expect(await keys.reserve(user.id, 'k', hash('b'), 'gen_other')).toMatchObject({ outcome: 'replay' })
  })

  it('can be taken over from a submit that died, which then stores nothing', async () => {
    const { db } = context
    const keys = idempotencyStore(db)
    const user = await givenUser(db)
    const dead = aGeneration(user)
    await keys.reserve(user.id, 'k', hash('a'), dead.id)
    await db.pool.query(`UPDATE idempotency_keys SET created_at = now() - interval '40 seconds' WHERE user_id = $1`, [
      user.id,
    ])
    const next = aGeneration(user)
    expect(await keys.reserve(user.id, 'k', hash('a'), next.id)).toEqual({ outcome: 'reserved' })
    expect(await submissionStore(db).insert(dead, { ...OPTIONS, idempotencyKey: 'k' })).toEqual({
      outcome: 'reservation_lost',
    })
    expect(await submissionStore(db).insert(next, { ...OPTIONS, idempotencyKey: 'k' })).toMatchObject({
      outcome: 'inserted',
    })
    expect(await chargesOf(db, user)).toEqual([['charge', -1]])
  })

  it('is not taken over while the lock of the submit that died may still be held', async () => {
    const { db } = context
    const keys = idempotencyStore(db)
    const user = await givenUser(db)
    await keys.reserve(user.id, 'k', hash('a'), 'gen_dead')
    // The lock was taken some seconds after the reservation.
    const age = SUBMIT_LOCK_MS + 3000
    await db.pool.query(`UPDATE idempotency_keys SET created_at = now() - $2 * interval '1 ms' WHERE user_id = $1`, [
      user.id,
      age,
    ])
    expect(await keys.reserve(user.id, 'k', hash('a'), 'gen_next')).toEqual({ outcome: 'in_flight' })
  })

  it.each([
    ['charged', undefined],
    ['metered', { concurrency: 1 }],
  ])('is not taken from a paused submit that stores its %s generation meanwhile', async (_kind, developer) => {
    const { db } = context
    const keys = idempotencyStore(db)
    const user = await givenUser(db, { ...(developer && { developer }) })
    const paused = aGeneration(user)
    await keys.reserve(user.id, 'k', hash('a'), paused.id)
    await db.pool.query(`UPDATE idempotency_keys SET created_at = now() - interval '40 seconds' WHERE user_id = $1`, [
      user.id,
    ])
    // The last thing an insert asks for: until then it holds the key's row, and has not committed.
    const release = await holding('SELECT FROM model_versions WHERE id = $1 FOR UPDATE', [MODEL.id])
    const storing = submissionStore(db).insert(paused, { ...OPTIONS, idempotencyKey: 'k' })
    await waiting(1)
    const taking = keys.reserve(user.id, 'k', hash('a'), 'gen_other')
    await waiting(2)
    await release()
    expect(await storing).toMatchObject({ outcome: 'inserted' })
    expect(await taking).toMatchObject({ outcome: 'replay', generation: { id: paused.id } })
  })

  it('is free again after 24 hours, and then belongs to the next generation', async () => {
    const { db } = context
    const keys = idempotencyStore(db)
    const user = await givenUser(db, { developer: { concurrency: 2 } })
    for (const age of ['25 hours', '40 seconds']) {
      const generation = aGeneration(user)
      expect(await keys.reserve(user.id, 'k', hash('a'), generation.id)).toEqual({ outcome: 'reserved' })
      await submissionStore(db).insert(generation, { ...OPTIONS, idempotencyKey: 'k' })
      await db.pool.query('UPDATE idempotency_keys SET created_at = now() - $2::interval WHERE user_id = $1', [
        user.id,
        age,
      ])
    }
    expect(await keys.reserve(user.id, 'k', hash('a'), 'gen_other')).toMatchObject({ outcome: 'replay' })
  })
})
