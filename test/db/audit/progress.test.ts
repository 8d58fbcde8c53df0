import { describe, expect, it } from 'vitest'
import type { Database } from '../../../src/db/client.js'
import { until } from '../../support/until.js'
import { useAudited } from './audited.js'

const audited = useAudited()

/** Of generations, by anybody so far. */
async function rowsRead({ pool }: Database): Promise<number> {
  // An audit tells Postgres when it goes.
  await until(
    async () =>
      (
        await pool.query(
          `SELECT FROM pg_stat_activity WHERE application_name = 'easel audit' AND datname = current_database()`,
        )
      ).rowCount === 0,
    'the end of the audit',
  )
  const { rows } = await pool.query(
    `SELECT (seq_tup_read + idx_tup_fetch)::integer AS n FROM pg_stat_user_tables WHERE relname = 'generations'`,
  )
  return rows[0].n
}

describe('what an audit has looked at', () => {
  /** Long enough ago that nothing may still be joining it. */
  const age = () =>
    audited.breaking(`
      UPDATE generations SET created_at = created_at - interval '1 hour', started_at = started_at - interval '1 hour',
                             finished_at = finished_at - interval '1 hour';
      UPDATE credit_ledger SET created_at = created_at - interval '1 hour';
      UPDATE images SET created_at = created_at - interval '1 hour';
      UPDATE usage SET created_at = created_at - interval '1 hour'`)
  const FOUND = { 'job-states-are-consistent': 1 }

  it('is looked at again only with --full, but a violation by every audit until it is mended', async () => {
    const { violated, set, succeeded } = audited
    await age()
    expect(await violated()).toEqual({})
    await set(succeeded, 'worker = NULL')
    expect(await violated()).toEqual({})
    expect(await violated({}, { full: true })).toEqual(FOUND)
    expect(await violated()).toEqual(FOUND)
    expect(await violated()).toEqual(FOUND)
    await set(succeeded, `worker = 'w'`)
    expect(await violated()).toEqual({})
    await set(succeeded, 'worker = NULL')
    expect(await violated()).toEqual({})
  })

  it('is looked at again if it came in the last minute or has not ended', async () => {
    const { violated, set, succeeded, running } = audited
    expect(await violated()).toEqual({})
    await set(succeeded, 'worker = NULL')
    expect(await violated()).toEqual(FOUND)
    await set(succeeded, `worker = 'w'`)
    await age()
    expect(await violated()).toEqual({})
    await set(running, 'worker = NULL')
    expect(await violated()).toEqual(FOUND)
  })

  it('is not read again by the next audit, however much it is', async () => {
    const { violated, breaking, developer, running, queued, easel } = audited
    // What has not ended yet keeps all that came after it from being left behind.
    for (const { id } of [running, queued]) await easel.json(`jobs cancel ${id}`)
    await breaking(
      `INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, error, model_version_id, model_name, filename,
         prompt, negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, created_at,
         finished_at, deadline_at)
       SELECT 'gen_' || n, $1, $2, 'personal', true, 'failed', 'It failed.', id, 'm', 'f', 'p', '', 832, 1216, 1, 30, 7,
              'euler_a', 1, ARRAY['s' || n], 0, now() - interval '1 hour', now() - interval '1 hour', now()
         FROM generate_series(1, 6000) n, (SELECT id FROM model_versions LIMIT 1) m`,
      [developer.id, developer.keyId],
    )
    await easel.db.pool.query('ANALYZE')
    expect(await violated()).toEqual({})
    const before = await rowsRead(easel.db)
    expect(await violated()).toEqual({})
    expect((await rowsRead(easel.db)) - before).toBeLessThan(1000)
  })

  it('is looked at again if it gets a new entry in the ledger', async () => {
    const { violated, breaking, succeeded, user, easel } = audited
    await age()
    expect(await violated()).toEqual({})
    await breaking(
      `INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id)
       SELECT $1, 'refund', 3, credits + 3, $2 FROM users WHERE id = $1`,
      [user.id, succeeded.id],
    )
    await easel.db.pool.query('UPDATE users SET credits = credits + 3 WHERE id = $1', [user.id])
    expect(await violated()).toEqual({ 'refunded-exactly-once': 1 })
    expect(await violated()).toEqual({ 'refunded-exactly-once': 1 })
  })
})
