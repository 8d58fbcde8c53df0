import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { auditDatabase } from '../../src/db/audit/audit-database.js'
import { useAudited, withRedis } from '../db/audit/audited.js'
import { givenUser } from '../support/givens.js'
import { redisAvailable } from '../support/services.js'

const audited = useAudited()
const BEFORE_REDIS = [
  'balance-is-sum-of-ledger',
  'ledger-balances-add-up',
  'no-negative-balance',
  'expiring-credits-add-up',
  'periods-are-granted-once',
  'periods-are-settled-in-time',
  'payments-are-granted-once',
  'purchases-belong-to-payments',
  'paid-subscriptions-end-as-paid',
  'payment-events-are-worked-off',
  'charged-exactly-once',
  'refunded-exactly-once',
  'idempotency-keys-stay-with-their-user',
  'idempotency-keys-lead-to-their-own-job',
  'one-active-charged-job-per-user',
  'charged-jobs-never-overlapped',
  'metered-jobs-keep-to-their-keys-limit',
  'jobs-end-by-their-deadline',
  'running-jobs-have-a-worker',
  'job-states-are-consistent',
  'records-share-their-jobs-times',
  'succeeded-jobs-have-their-images',
  'images-are-as-ordered',
  'slugs-are-used-once',
  'metered-images-are-counted-once',
  'webhooks-are-sent-in-time',
  'ideas-are-submitted-in-time',
  'queue-holds-only-jobs-to-run',
]
const OF_REDIS = ['queue-events-are-of-known-jobs', 'locks-belong-to-active-jobs']
const AFTER_REDIS = [
  'images-are-stored-intact',
  'removed-images-have-no-file',
  'private-images-have-no-public-file',
  'failed-jobs-leave-no-file',
  'archived-generations-can-be-read',
]
const passed = (names: readonly string[]) => ({ ok: true, checks: names.map((name) => ({ name, violations: 0 })) })

describe('audit of a service in order', () => {
  it('finds no violation, and names each check', async () => {
    const { easel } = audited
    expect(await easel.json('audit')).toEqual(passed([...BEFORE_REDIS, ...AFTER_REDIS]))
    expect(await easel.json('audit --full')).toEqual(
      passed([...BEFORE_REDIS, ...AFTER_REDIS, 'files-belong-to-images']),
    )
    const lines = (await easel.text('audit')).split('\n')
    expect(lines[0]).toMatch(/^check +violations +such as$/)
    expect(lines[1]).toMatch(/^balance-is-sum-of-ledger +0 +-$/)
    expect(lines.at(-1)).toBe('All 33 checks passed.')
  })

  it.skipIf(!redisAvailable)(
    'looks into Redis, too, where the service has one, and finds no violation there',
    async () => {
      await withRedis(async (_redis, env) => {
        expect(await audited.easel.json('audit', env)).toEqual(passed([...BEFORE_REDIS, ...OF_REDIS, ...AFTER_REDIS]))
      })
    },
  )

  it('reads only: it changes neither the database nor Redis nor the image store', async () => {
    const { easel } = audited
    const elsewhere = join(easel.storage, 'elsewhere')
    await easel.run('audit', { STORAGE_URL: `file:${elsewhere}` })
    expect(existsSync(elsewhere)).toBe(false)
    const db = await auditDatabase(easel.databaseUrl)
    await expect(db.rows(sql`DELETE FROM usage`)).rejects.toThrow('in a read-only transaction')
    await db.close()
    if (!redisAvailable) return
    await withRedis(async (redis, env) => {
      await easel.json('audit', env)
      expect(await redis.dbsize()).toBe(0)
    })
  })
})

describe('audit of a service with a violation', () => {
  it('shows the count and an example, and exits 1', async () => {
    await audited.breaking('UPDATE users SET credits = credits + 1 WHERE id = $1', [audited.user.id])
    const { code, stdout } = await audited.easel.run('audit')
    expect(code).toBe(1)
    expect(stdout).toMatch(new RegExp(`^balance-is-sum-of-ledger +1 +${audited.user.username}$`, 'm'))
    expect(stdout).toMatch(/\n1 of 33 checks found violations\.\n$/)
  })

  it('names five in the table, and all for a program', async () => {
    const { easel } = audited
    const wrong = [audited.user, audited.developer]
    for (let n = 0; n < 5; n++) wrong.push(await givenUser(easel.db))
    const names = wrong.map(({ username }) => username).sort()
    await audited.breaking('UPDATE users SET credits = credits + 1 WHERE username = ANY ($1)', [names])
    const { stdout } = await easel.run('audit --json')
    expect(JSON.parse(stdout).checks).toContainEqual({
      name: 'balance-is-sum-of-ledger',
      violations: 7,
      examples: names,
    })
    expect((await easel.run('audit')).stdout).toMatch(
      new RegExp(`^balance-is-sum-of-ledger +7 +${names.slice(0, 5).join(', ')}$`, 'm'),
    )
  })
})

it('audit exits with a sentence while Redis is away', async () => {
  expect(await audited.easel.error('audit', { REDIS_URL: 'redis://127.0.0.1:1' })).toBe(
    "Redis can't be reached: check REDIS_URL, and that Redis runs.",
  )
})
