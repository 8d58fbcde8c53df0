import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import { auditDatabase } from '../../src/audit/audit-database.js'
import { type Generation, newGenerationId, newSlug } from '../../src/generation/generation.js'
import { redisActiveGenerationLock } from '../../src/redis/active-generation-lock.js'
import { type GivenUser, givenGeneration, givenUser } from '../support/givens.js'
import { redisAvailable, redisUrl } from '../support/services.js'
import { useEasel } from './easel.js'
import { givenPicture, givenProcessing, givenSucceeded } from './given-pictures.js'

const easel = useEasel({ each: true })
const CHECKS = [
  'balance-is-sum-of-ledger',
  'ledger-balances-add-up',
  'no-negative-balance',
  'charged-exactly-once',
  'refunded-exactly-once',
  'idempotency-keys-stay-with-their-user',
  'one-active-charged-job-per-user',
  'jobs-end-by-their-deadline',
  'job-states-are-consistent',
  'succeeded-jobs-have-their-images',
  'metered-images-are-counted-once',
  'images-are-stored-intact',
  'removed-images-have-no-file',
  'files-belong-to-images',
]

let user: GivenUser
let succeeded: Generation
let failed: Generation
let metered: Generation
let running: Generation
let slug: string
let removedSlug: string

/** A bit of everything, and all of it right. */
beforeEach(async () => {
  const { db } = easel
  user = await givenUser(db)
  succeeded = await givenSucceeded(easel, user, { batchSize: 3 })
  ;[slug, removedSlug] = succeeded.slugs as [string, string]
  await easel.json(`images remove ${removedSlug}`)
  failed = await givenGeneration(db, user, { batchSize: 2 })
  await easel.json(`jobs cancel ${failed.id}`)
  metered = await givenSucceeded(easel, await givenUser(db, { developer: { concurrency: 4 } }), { batchSize: 2 })
  running = await givenGeneration(db, user)
  await givenProcessing(easel, running)
  await givenGeneration(db, await givenUser(db))
  const gone = await givenUser(db)
  await givenGeneration(db, gone)
  await easel.json(`user delete ${gone.username} --purge`)
})

/** The checks that find something, with what they count. */
async function violated(env: Record<string, string> = {}, line = 'audit'): Promise<Record<string, number>> {
  const { code, stdout, stderr } = await easel.run(`${line} --json`, env)
  expect(stderr).toBe('')
  const { ok, checks } = JSON.parse(stdout)
  const found = checks.filter(({ violations }: { violations: number }) => violations !== 0)
  expect(ok).toBe(found.length === 0)
  expect(code).toBe(ok ? 0 : 1)
  return Object.fromEntries(
    found.map(({ name, violations }: { name: string; violations: number }) => [name, violations]),
  )
}

/** Breaks what the tables' own guards would not let anyone break. */
const breaking = (statement: string, values: unknown[] = []) => {
  const guards = `ALTER TABLE credit_ledger DISABLE TRIGGER USER; ALTER TABLE generations DISABLE TRIGGER USER`
  return easel.db.pool.query(guards).then(() => easel.db.pool.query(statement, values))
}
const setGeneration = ({ id }: Generation, set: string) => breaking(`UPDATE generations SET ${set} WHERE id = $1`, [id])
const fileOf = (name: string) => join(easel.storage, `${name}.png`)

describe('a service in order', () => {
  it('has no violation, in exactly these words', async () => {
    expect(await easel.json('audit')).toEqual({
      ok: true,
      checks: CHECKS.map((name) => ({ name, violations: 0 })),
    })
    expect(await easel.json('audit --full')).toMatchObject({ ok: true })
    const lines = (await easel.text('audit')).split('\n')
    expect(lines[0]).toMatch(/^check +violations +such as$/)
    expect(lines[1]).toMatch(/^balance-is-sum-of-ledger +0 +-$/)
    expect(lines.at(-1)).toBe('All 14 checks passed.')
  })

  it('is only read', async () => {
    const elsewhere = join(easel.storage, 'elsewhere')
    await easel.run('audit', { STORAGE_URL: `file:${elsewhere}` })
    expect(existsSync(elsewhere)).toBe(false)
    const db = await auditDatabase(easel.databaseUrl)
    await expect(db.rows('DELETE FROM usage')).rejects.toThrow('in a read-only transaction')
    await db.close()
  })
})

describe('credits', () => {
  it('finds a balance that the ledger does not explain, and names the user', async () => {
    await breaking('UPDATE users SET credits = credits + 1 WHERE id = $1', [user.id])
    expect(await violated()).toEqual({ 'balance-is-sum-of-ledger': 1 })
    const { code, stdout } = await easel.run('audit')
    expect(code).toBe(1)
    expect(stdout).toMatch(new RegExp(`^balance-is-sum-of-ledger +1 +${user.username}$`, 'm'))
    expect(stdout).toMatch(/\n1 of 14 checks found violations\.\n$/)
  })

  it('finds a ledger row that does not follow from the one before', async () => {
    await breaking(`UPDATE credit_ledger SET balance = balance + 1 WHERE generation_id = $1 AND kind = 'charge'`, [
      succeeded.id,
    ])
    expect(await violated()).toEqual({ 'ledger-balances-add-up': 2 })
  })

  it('finds a negative balance', async () => {
    await breaking('ALTER TABLE users DROP CONSTRAINT users_credits_check')
    await breaking('UPDATE users SET credits = -1 WHERE id = $1', [user.id])
    expect(await violated()).toEqual({ 'balance-is-sum-of-ledger': 1, 'no-negative-balance': 1 })
  })

  it('finds a job that was charged never, twice, wrongly, to another user, or although it is metered', async () => {
    const charge = `UPDATE credit_ledger SET`
    const where = `WHERE kind = 'charge' AND generation_id = $1`
    await breaking(`${charge} delta = delta - 1 ${where}`, [succeeded.id])
    expect(await violated()).toMatchObject({ 'charged-exactly-once': 1 })
    await breaking(`DELETE FROM credit_ledger ${where}`, [succeeded.id])
    expect(await violated()).toMatchObject({ 'charged-exactly-once': 1 })
    await breaking(`${charge} user_id = (SELECT min(id::text)::uuid FROM users WHERE id <> user_id) ${where}`, [
      running.id,
    ])
    expect(await violated()).toMatchObject({ 'charged-exactly-once': 2 })
    await breaking(
      `INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id) VALUES ($1, 'charge', 0, 0, $2)`,
      [user.id, metered.id],
    )
    expect(await violated()).toMatchObject({ 'charged-exactly-once': 3 })
    await breaking('ALTER TABLE credit_ledger DROP CONSTRAINT credit_ledger_generation_id_kind_key')
    await breaking(
      `INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id) VALUES ($1, 'charge', 0, 0, $2)`,
      [user.id, failed.id],
    )
    expect(await violated()).toMatchObject({ 'charged-exactly-once': 4 })
  })

  it('finds a failed job that was not given back, unless that is how it is meant to be', async () => {
    await breaking(`DELETE FROM credit_ledger WHERE kind = 'refund' AND generation_id = $1`, [failed.id])
    expect(await violated()).toMatchObject({ 'refunded-exactly-once': 1 })
    expect(await violated({ REFUND_FAILED: 'false' })).not.toHaveProperty('refunded-exactly-once')
  })

  it('finds a refund of a job that succeeded, and one of more than the charge', async () => {
    await breaking(`UPDATE credit_ledger SET delta = delta + 1 WHERE kind = 'refund' AND generation_id = $1`, [
      failed.id,
    ])
    await breaking(
      `INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id) VALUES ($1, 'refund', 3, 0, $2)`,
      [user.id, succeeded.id],
    )
    expect(await violated({ REFUND_FAILED: 'false' })).toMatchObject({ 'refunded-exactly-once': 2 })
  })
})

describe('jobs', () => {
  it('finds an idempotency key that leads to another user’s job', async () => {
    await easel.db.pool.query(
      `INSERT INTO idempotency_keys (user_id, key, body_hash, generation_id) SELECT id, 'k', '\\x00', $2 FROM users WHERE id <> $1 LIMIT 1`,
      [user.id, succeeded.id],
    )
    await easel.db.pool.query(
      `INSERT INTO idempotency_keys (user_id, key, body_hash, generation_id) VALUES ($1, 'own', '\\x00', $2), ($1, 'new', '\\x00', $3)`,
      [user.id, succeeded.id, newGenerationId()],
    )
    expect(await violated()).toEqual({ 'idempotency-keys-stay-with-their-user': 1 })
  })

  it('finds a user with two active charged jobs', async () => {
    await breaking('DROP INDEX generations_one_active')
    const active = await easel.db.pool.query(`SELECT id FROM generations WHERE status = 'queued' AND user_id <> $1`, [
      user.id,
    ])
    await breaking('UPDATE generations SET user_id = $1 WHERE id = $2', [user.id, active.rows[0].id])
    await breaking('UPDATE credit_ledger SET user_id = $1 WHERE generation_id = $2', [user.id, active.rows[0].id])
    expect(await violated()).toMatchObject({ 'one-active-charged-job-per-user': 1 })
  })

  it('finds a job that goes on half a minute past its deadline', async () => {
    await setGeneration(running, `deadline_at = now() - interval '25 seconds'`)
    expect(await violated()).toEqual({})
    await setGeneration(running, `deadline_at = now() - interval '35 seconds'`)
    expect(await violated()).toEqual({ 'jobs-end-by-their-deadline': 1 })
  })

  it('finds states that do not fit together', async () => {
    const found = async (generation: Generation, wrong: string, right: string) => {
      await setGeneration(generation, wrong)
      expect(await violated()).toEqual({ 'job-states-are-consistent': 1 })
      await setGeneration(generation, right)
    }
    await found(succeeded, `lease_until = now()`, `lease_until = NULL`)
    await found(succeeded, `started_at = created_at - interval '2 seconds'`, `started_at = created_at`)
    await found(succeeded, `finished_at = started_at - interval '2 seconds'`, `finished_at = now()`)
    await found(succeeded, `started_at = NULL`, `started_at = created_at`)
    await found(failed, `finished_at = created_at - interval '2 seconds'`, `finished_at = now()`)
    await found(failed, `lease_until = now()`, `lease_until = NULL`)
    await found(running, `lease_until = NULL`, `lease_until = now()`)
    await found(running, `worker = NULL`, `worker = 'w'`)
    await found(running, `tries = 1`, `tries = 0`)
    await found(running, `tries = 3, attempt = 9`, `tries = 2, attempt = 9`)
    expect(await violated()).toEqual({})
  })

  it('finds a job that succeeded without its images, and images of one that did not', async () => {
    await breaking('DELETE FROM images WHERE slug = $1', [slug])
    expect(await violated()).toEqual({ 'succeeded-jobs-have-their-images': 1 })
    await breaking('UPDATE images SET generation_id = $2, idx = 0 WHERE generation_id = $1 AND idx = 2', [
      succeeded.id,
      running.id,
    ])
    expect(await violated()).toEqual({ 'succeeded-jobs-have-their-images': 2 })
  })

  it('finds metered images that are not counted, and charged ones that are', async () => {
    await breaking('DELETE FROM usage WHERE generation_id = $1 AND idx = 1', [metered.id])
    expect(await violated()).toEqual({ 'metered-images-are-counted-once': 1 })
    await breaking('INSERT INTO usage SELECT $1, idx, api_key_id, user_id, model_version_id, created_at FROM usage', [
      succeeded.id,
    ])
    expect(await violated()).toEqual({ 'metered-images-are-counted-once': 2 })
  })
})

describe('pictures', () => {
  it('finds one that is missing or changed', async () => {
    await rm(fileOf(slug))
    expect(await violated()).toEqual({ 'images-are-stored-intact': 1 })
    await writeFile(fileOf(metered.slugs[0] as string), 'something else')
    expect(await violated()).toEqual({ 'images-are-stored-intact': 2 })
    expect(await violated({}, 'audit --full')).toEqual({ 'images-are-stored-intact': 2 })
  })

  it('finds one that is no whole PNG, or not of the size that its row says', async () => {
    const store = async (name: string, bytes: Buffer) => {
      await writeFile(fileOf(name), bytes)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      await easel.db.pool.query('UPDATE images SET sha256 = $2 WHERE slug = $1', [name, sha256])
    }
    const png = await readFile(fileOf(slug))
    const flipped = Buffer.from(png)
    flipped.writeUInt8(flipped.readUInt8(50) ^ 1, 50)
    for (const broken of [
      Buffer.from('<svg/>'),
      png.subarray(0, -12),
      Buffer.concat([png, Buffer.from('x')]),
      flipped,
    ]) {
      await store(slug, broken)
      expect(await violated()).toEqual({ 'images-are-stored-intact': 1 })
    }
    await store(slug, png)
    expect(await violated()).toEqual({})
    await easel.db.pool.query('UPDATE images SET width = width + 8 WHERE slug = $1', [slug])
    expect(await violated()).toEqual({ 'images-are-stored-intact': 1 })
  })

  it('finds all of them in a directory that is not there', async () => {
    expect(await violated({ STORAGE_URL: `file:${easel.storage}/elsewhere` })).toEqual({
      'images-are-stored-intact': 4,
    })
  })

  it('finds the file of one that was taken down', async () => {
    await givenPicture(easel, removedSlug)
    expect(await violated()).toEqual({ 'removed-images-have-no-file': 1 })
    expect(await violated({}, 'audit --full')).toEqual({ 'removed-images-have-no-file': 1 })
  })

  it('finds a file that belongs to nothing, once it had time to be recorded', async () => {
    const stray = newSlug()
    await givenPicture(easel, stray)
    await givenPicture(easel, running.slugs[0] as string)
    await writeFile(join(easel.storage, 'notes.txt'), 'not ours')
    expect(await violated()).toEqual({})
    const past = new Date(Date.now() - 660_000)
    for (const name of [stray, running.slugs[0] as string]) await utimes(fileOf(name), past, past)
    await utimes(join(easel.storage, 'notes.txt'), past, past)
    expect(await violated()).toEqual({ 'files-belong-to-images': 1 })
  })
})

describe.skipIf(!redisAvailable)('locks in Redis', () => {
  const withLock = async <T>(work: (lock: ReturnType<typeof redisActiveGenerationLock>, url: string) => Promise<T>) => {
    const url = await redisUrl()
    const redis = new Redis(url)
    try {
      await redis.flushdb()
      return await work(redisActiveGenerationLock(redis, 'easel'), url)
    } finally {
      redis.disconnect()
    }
  }

  it('are held by active jobs, or by a submit whose job is not there yet', async () => {
    await withLock(async (lock, url) => {
      await lock.keep([{ accountId: user.id, generationId: running.id, ttlMs: 60_000 }])
      await lock.acquire('another', newGenerationId())
      const { ok, checks } = await easel.json('audit', { REDIS_URL: url })
      expect(ok).toBe(true)
      expect(checks.map(({ name }: { name: string }) => name)).toContain('locks-belong-to-active-jobs')
    })
  })

  it('are found when their job has ended, or never was', async () => {
    await withLock(async (lock, url) => {
      await lock.keep([
        { accountId: 'a', generationId: succeeded.id, ttlMs: 60_000 },
        { accountId: 'b', generationId: newGenerationId(), ttlMs: 60_000 },
      ])
      expect(await violated({ REDIS_URL: url })).toEqual({ 'locks-belong-to-active-jobs': 2 })
    })
  })

  it('are not blamed when they are released a moment after their job ended', async () => {
    await withLock(async (lock, url) => {
      await lock.keep([{ accountId: user.id, generationId: succeeded.id, ttlMs: 60_000 }])
      const releasing = new Promise((resolve) => setTimeout(resolve, 300)).then(() =>
        lock.release(user.id, succeeded.id),
      )
      expect(await violated({ REDIS_URL: url })).toEqual({})
      await releasing
    })
  })

  it('cannot be judged while Redis is away', async () => {
    expect(await easel.error('audit', { REDIS_URL: 'redis://127.0.0.1:1' })).toBe(
      "Redis can't be reached: check REDIS_URL and that it is running.",
    )
  })
})
