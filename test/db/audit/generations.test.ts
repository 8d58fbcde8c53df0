import { describe, expect, it } from 'vitest'
import { type Generation, newGenerationId } from '../../../src/core/generations/generation.js'
import { givenGeneration } from '../../support/givens.js'
import { useAudited } from './audited.js'

const audited = useAudited()
const { breaking, set, violated } = audited

describe('an idempotency key', () => {
  const reserve = (userId: string, key: string, generationId: string, createdAt: string) =>
    breaking(
      `INSERT INTO idempotency_keys (user_id, key, body_hash, generation_id, created_at) VALUES ($1, $2, '\\x00', $3, ${createdAt})`,
      [userId, key, generationId],
    )
  const EARLIER = `now() - interval '1 minute'`

  it('is no violation with its own job, or with a job that is not stored yet', async () => {
    const { user, succeeded } = audited
    await reserve(user.id, 'own', succeeded.id, EARLIER)
    await reserve(user.id, 'new', newGenerationId(), 'now()')
    expect(await violated()).toEqual({})
    // Marked as stored with it, it is its own whatever a clock that was set back says.
    await breaking(
      `UPDATE idempotency_keys SET stored = true, created_at = now() + interval '1 minute' WHERE key = 'own'`,
    )
    expect(await violated()).toEqual({})
  })

  it('is a violation if it leads to another user’s job', async () => {
    await reserve(audited.developer.id, 'k', audited.succeeded.id, EARLIER)
    expect(await violated()).toEqual({ 'idempotency-keys-stay-with-their-user': 1 })
  })

  it('is a violation if it is younger than its job, shares its job with another key, is there twice, or has a mark but no job', async () => {
    const { user, succeeded, failed } = audited
    const found = { 'idempotency-keys-lead-to-their-own-job': 1 }
    await reserve(user.id, 'none', newGenerationId(), EARLIER)
    await breaking('UPDATE idempotency_keys SET stored = true')
    expect(await violated()).toEqual(found)
    await breaking('DELETE FROM idempotency_keys')
    await reserve(user.id, 'late', succeeded.id, `now() + interval '1 minute'`)
    expect(await violated()).toEqual(found)
    await breaking(`UPDATE idempotency_keys SET created_at = ${EARLIER}`)
    await reserve(user.id, 'other', succeeded.id, EARLIER)
    expect(await violated()).toEqual(found)
    await breaking('ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey')
    await breaking(`UPDATE idempotency_keys SET key = 'late', generation_id = $1 WHERE key = 'other'`, [failed.id])
    expect(await violated()).toEqual(found)
  })
})

describe('jobs of one user', () => {
  const giveTo = async (userId: string, generation: Generation) => {
    await set(generation, `user_id = '${userId}'`)
    await breaking('UPDATE credit_ledger SET user_id = $1 WHERE generation_id = $2', [userId, generation.id])
  }

  it('are a violation if two charged ones are active', async () => {
    await breaking('DROP INDEX generations_one_active')
    await giveTo(audited.user.id, audited.queued)
    expect(await violated()).toMatchObject({
      'one-active-charged-job-per-user': 1,
      'charged-jobs-never-overlapped': 1,
    })
  })

  it('are a violation if two charged ones were active at the same time in the past', async () => {
    const { succeeded, failed } = audited
    const submitted = (
      seconds: number,
    ) => `created_at = (SELECT created_at FROM generations WHERE id = '${succeeded.id}')
      + interval '${seconds} seconds'`
    const overlap = async () => (await violated())['charged-jobs-never-overlapped']
    await set(succeeded, `finished_at = created_at + interval '60 seconds'`)
    await set(failed, `${submitted(56)}, finished_at = now() + interval '2 minutes'`)
    // A statement's time is its start, so some seconds are no proof; the user's later job overlaps in earnest.
    expect(await overlap()).toBe(1)
    await set(failed, `${submitted(54)}, finished_at = created_at`)
    await set(audited.running, submitted(61))
    expect(await overlap()).toBe(1)
    await set(failed, submitted(60))
    expect(await overlap()).toBe(undefined)
  })

  it('are a violation if more metered ones are active than the key may run', async () => {
    const { easel, developer } = audited
    const allow = (concurrency: number) =>
      easel.db.pool.query('UPDATE api_keys SET concurrency = $2 WHERE id = $1', [developer.keyId, concurrency])
    await allow(2)
    await givenGeneration(easel.db, developer)
    await givenGeneration(easel.db, developer)
    expect(await violated()).toEqual({})
    await allow(1)
    expect(await violated()).toEqual({ 'metered-jobs-keep-to-their-keys-limit': 1 })
  })
})

describe('a job that nobody looks after', () => {
  it('is a violation half a minute after its deadline or its worker’s lease, unless it is ended between the two looks', async () => {
    const { easel, queued, running } = audited
    const late = (seconds: number) => `now() - interval '${seconds} seconds'`
    await set(queued, `deadline_at = ${late(15)}`)
    await set(running, `deadline_at = ${late(15)}, lease_until = ${late(15)}`)
    expect(await violated()).toEqual({})
    await set(queued, `deadline_at = ${late(35)}`)
    await set(running, `deadline_at = ${late(35)}, lease_until = ${late(35)}`)
    const between = async (afterMs: number) => {
      expect(afterMs).toBe(8000)
      await easel.json(`jobs cancel ${queued.id}`)
    }
    expect(await violated({}, { between })).toEqual({
      'jobs-end-by-their-deadline': 1,
      'running-jobs-have-a-worker': 1,
    })
  })
})

describe('a job', () => {
  it('is a violation if its status, times, lease, worker and tries do not fit together', async () => {
    const { succeeded, failed, running } = audited
    const found = async (generation: Generation, wrong: string, right: string) => {
      await set(generation, wrong)
      expect(await violated()).toMatchObject({ 'job-states-are-consistent': 1 })
      await set(generation, right)
    }
    await found(succeeded, `lease_until = now()`, `lease_until = NULL`)
    await found(succeeded, `started_at = created_at - interval '2 seconds'`, `started_at = created_at`)
    await found(succeeded, `started_at = finished_at + interval '2 seconds'`, `started_at = created_at`)
    await found(succeeded, `started_at = NULL`, `started_at = created_at`)
    await found(failed, `created_at = finished_at + interval '2 seconds'`, `created_at = finished_at`)
    await found(failed, `lease_until = now()`, `lease_until = NULL`)
    await found(running, `lease_until = NULL`, `lease_until = now() + interval '1 hour'`)
    await found(running, `worker = NULL`, `worker = 'w'`)
    await found(running, `tries = 1`, `tries = 0`)
    await found(running, `tries = 3, attempt = 9`, `tries = 2, attempt = 9`)
    expect(await violated()).not.toHaveProperty('job-states-are-consistent')
  })

  it('is a violation if its charge, refund, images or usage have another time than it has', async () => {
    const { succeeded, failed, metered } = audited
    const found = async (table: string, where: string, id: string) => {
      const shifted = (by: string) =>
        breaking(`UPDATE ${table} SET created_at = created_at ${by} interval '1 microsecond' WHERE ${where} = $1`, [id])
      await shifted('+')
      expect(await violated()).toEqual({ 'records-share-their-jobs-times': 1 })
      await shifted('-')
    }
    await found('credit_ledger', `kind = 'charge' AND generation_id`, succeeded.id)
    await found('credit_ledger', `kind = 'refund' AND generation_id`, failed.id)
    await found('images', 'idx = 2 AND generation_id', succeeded.id)
    await found('usage', 'idx = 1 AND generation_id', metered.id)
    expect(await violated()).toEqual({})
  })
})
