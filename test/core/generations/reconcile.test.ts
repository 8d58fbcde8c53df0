import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { reconcile } from '../../../src/core/generations/repair/reconcile.js'
import { RULES } from '../../../src/core/generations/repair/rules.js'
import type { ClaimedGeneration } from '../../../src/core/generations/run/ports.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { leaderLease } from '../../../src/db/generations/leader-lease.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { runStore } from '../../../src/db/generations/run.js'
import {
  lockKey,
  noActiveGenerationLock,
  redisActiveGenerationLock,
} from '../../../src/redis/active-generation-lock.js'
import { type RedisClient, slotPrefixes } from '../../../src/redis/cluster.js'
import { redisWipeMark, wipeMarkKey } from '../../../src/redis/wipe-mark.js'
import { useDatabase } from '../../support/database.js'
import { fakeQueue, fakeWipeMark, noImages, noLog } from '../../support/fake-ports.js'
import { chargesOf, givenGeneration, givenUser, rowOf } from '../../support/givens.js'
import { openRedisIfAny } from '../../support/test-redis.js'
import { unguarded } from '../../support/unguarded.js'

const context = useDatabase()
const redis = await openRedisIfAny()
afterAll(() => redis?.disconnect())

let queue = fakeQueue()
beforeEach(async () => {
  queue = fakeQueue()
  await context.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
})

const pass = (full = false, more: object = {}) =>
  reconcile(
    {
      rows: reconcileStore(context.db, { refundFailed: true }),
      periods: periodStore(context.db),
      queue,
      lock: noActiveGenerationLock,
      images: noImages,
      wipeMark: fakeWipeMark(),
      log: noLog,
      ...more,
    },
    { full, trustLeases: true },
  )

async function givenClaimed(): Promise<ClaimedGeneration> {
  await givenGeneration(context.db, await givenUser(context.db))
  const serves = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
  return (await runStore(context.db, { refundFailed: true }).claim(
    { worker: 'w', backend: 'b' },
    serves,
  )) as ClaimedGeneration
}
const set = (id: string, what: string) => context.db.pool.query(`UPDATE generations SET ${what} WHERE id = $1`, [id])

const versionOf = async (id: string) =>
  (await context.db.pool.query('SELECT ctid::text AS version FROM generations WHERE id = $1', [id])).rows[0].version

it('applies its rules in the order of the table in docs/architecture.md', () => {
  const document = readFileSync(new URL('../../../docs/architecture.md', import.meta.url), 'utf8')
  const rows = [...document.matchAll(/^\| (.+) \| `([a-z_]+)`(?=:| \|)/gm)].map(([, repairs, name]) => [name, repairs])
  expect(rows).toEqual(RULES.map(({ name, repairs }) => [name, repairs]))
})

describe('an attempt whose worker is gone', () => {
  it('is put back in its place and enqueued again, whatever its tries, until the fifth worker has died under it', async () => {
    const { id, accountId } = await givenClaimed()
    await pass()
    expect(await rowOf(context.db, { id })).toMatchObject({ status: 'processing', attempt: 1 })
    await set(id, 'attempt = 3, tries = 2')
    for (const deaths of [1, 2, 3, 4]) {
      await set(id, `status = 'processing', lease_until = now() - interval '1 second'`)
      await pass()
      expect(await rowOf(context.db, { id })).toMatchObject({ status: 'queued', attempt: 3 + deaths, deaths, tries: 2 })
      expect(queue.rung).toContainEqual({ id, attempt: 3 + deaths })
    }
    await set(id, `status = 'processing', lease_until = now() - interval '1 second'`)
    await pass()
    expect(await rowOf(context.db, { id })).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/several times/),
    })
    expect(await chargesOf(context.db, { id: accountId })).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
  })
})

describe('a generation past its deadline', () => {
  it.each(['queued', 'processing'])('is failed and refunded while it is %s', async (status) => {
    const user = await givenUser(context.db)
    const { id } = await givenGeneration(context.db, user)
    await set(id, `status = '${status}', deadline_at = now(), lease_until = now() + interval '1 hour'`)
    await pass()
    expect(await rowOf(context.db, { id })).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/deadline/),
    })
    expect(await chargesOf(context.db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
  })
})

describe('a queued generation whose delivery was lost', () => {
  it('is enqueued once, and again only by a full pass', async () => {
    const { id } = await givenGeneration(context.db, await givenUser(context.db))
    const setAge = (age: string) =>
      unguarded(context.db, `UPDATE generations SET created_at = now() - interval '${age}' WHERE id = $1`, [id])
    await setAge('-1 minute')
    await pass()
    expect(queue.rung).toEqual([]) // it is young: its own delivery is on the way
    await setAge('5 seconds')
    const version = await versionOf(id)
    queue.reachable = false
    await pass()
    queue.reachable = true
    await pass()
    await pass()
    expect(queue.rung).toEqual([{ id, attempt: 1 }])
    await pass(true)
    expect(queue.rung).toHaveLength(2)
    // Nothing of it was written meanwhile: a waiting generation's row is wide, and in nine indexes.
    expect(await versionOf(id)).toBe(version)
  })

  it('is enqueued again after a wipe of Redis, which the missing mark shows', async () => {
    const { id } = await givenGeneration(context.db, await givenUser(context.db))
    await context.db.pool.query('DELETE FROM unenqueued')
    const wipeMark = fakeWipeMark(false)
    await pass(false, { wipeMark })
    await pass(false, { wipeMark })
    expect(queue.rung).toEqual([{ id, attempt: 1 }])
  })

  it('is enqueued only after the delay of its retry', async () => {
    const claimed = await givenClaimed()
    const { id } = claimed
    await runStore(context.db, { refundFailed: true }).requeue(claimed, {
      reason: 'internal',
      countTry: true,
      delayMs: 60_000,
    })
    await pass()
    expect(queue.rung).toEqual([])
    await set(id, 'not_before = now()')
    await pass()
    expect(queue.rung).toEqual([{ id, attempt: 2 }])
  })
})

describe('images of a generation that failed', () => {
  it('are removed by a full pass, unless it failed just now', async () => {
    const { db } = context
    const long = await givenClaimed()
    const now = await givenClaimed()
    for (const generation of [long, now]) await runStore(db, { refundFailed: true }).fail(generation, 'It failed.')
    await unguarded(db, `UPDATE generations SET finished_at = now() - interval '40 seconds' WHERE id = $1`, [long.id])
    const removed: string[] = []
    const images = {
      remove: async (slug: string) => {
        removed.push(slug)
      },
    }
    await pass(true, { images })
    expect(removed).toEqual(expect.arrayContaining([...long.slugs]))
    expect(removed).not.toEqual(expect.arrayContaining([...now.slugs]))
  })
})

describe.skipIf(!redis)('locks in Redis', () => {
  const client = redis as RedisClient
  const prefix = `t${randomBytes(5).toString('hex')}`
  const lock = client ? redisActiveGenerationLock(client, prefix) : noActiveGenerationLock
  const wipeMark = client && redisWipeMark(client, prefix)
  const forget = (...keys: string[]) => Promise.all(keys.map((key) => client.del(key)))
  const keyOf = ({ id }: { id: string }) => lockKey(client, prefix)(id)
  const marks = () => slotPrefixes(client, prefix).map(wipeMarkKey)
  const holder = (user: { id: string }) => client.get(keyOf(user))

  it('are set anew for active generations after a wipe', async () => {
    const [one, two] = [await givenUser(context.db), await givenUser(context.db)]
    const [first, second] = [await givenGeneration(context.db, one), await givenGeneration(context.db, two)]
    await pass(false, { lock, wipeMark })
    expect([await holder(one), await holder(two)]).toEqual([first.id, second.id])
    expect(await client.pttl(keyOf(one))).toBeGreaterThan(3_600_000)
  })

  it('are set anew if Redis is wiped again while they are being restored', async () => {
    const user = await givenUser(context.db)
    const generation = await givenGeneration(context.db, user)
    let wipes = 0
    const wiped: typeof lock = {
      ...lock,
      async keep(locks) {
        const kept = await lock.keep(locks)
        // The last page is empty.
        if (locks.length === 0 && wipes++ === 0) await forget(keyOf(user), ...marks())
        return kept
      },
    }
    await forget(...marks())
    expect([await pass(false, { lock: wiped, wipeMark }), await holder(user)]).toEqual([false, null])
    expect([await pass(false, { lock: wiped, wipeMark }), await holder(user)]).toEqual([true, generation.id])
    expect(wipes).toBe(2)
    expect([await pass(false, { lock: wiped, wipeMark }), wipes]).toEqual([true, 2])
  })

  it('are released again if their generation ends while they are being restored', async () => {
    const user = await givenUser(context.db)
    const generation = await givenGeneration(context.db, user)
    const slow: typeof lock = {
      ...lock,
      async keep(locks) {
        // The last page is empty.
        if (locks.length === 0) return lock.keep(locks)
        await set(generation.id, `status = 'failed', error = 'over', finished_at = now()`)
        await lock.release(user.id, generation.id)
        return lock.keep(locks)
      },
    }
    await pass(false, { lock: slow, wipeMark: { ...wipeMark, present: async () => false } })
    expect(await holder(user)).toBeNull()
  })

  it('are released if their generation has ended, and kept if it is not stored yet', async () => {
    const [one, two] = [await givenUser(context.db), await givenUser(context.db)]
    const generation = await givenGeneration(context.db, one)
    await lock.acquire(one.id, generation.id)
    await lock.acquire(two.id, 'gen_being_submitted')
    await set(generation.id, `status = 'failed', error = 'over', finished_at = now()`)
    await pass(true, { lock, wipeMark })
    expect([await holder(one), await holder(two)]).toEqual([null, 'gen_being_submitted'])
  })
})

describe('the lease of the leader', () => {
  it('belongs to one process at a time, and passes on when that process ends or falls silent', async () => {
    const { db } = context
    const [one, two] = [leaderLease(db, 'leader', 'one'), leaderLease(db, 'leader', 'two')]
    const endIn = (time: string) =>
      db.pool.query(`UPDATE leases SET until = now() + interval '${time}' WHERE name = 'leader'`)
    expect(await Promise.all([one.hold(), one.hold()])).toEqual([true, true])
    await endIn('1 hour')
    expect(await two.hold()).toBe(false)
    await one.release()
    expect(await two.hold()).toBe(true)
    await endIn('-1 second')
    expect(await one.hold()).toBe(true)
    await endIn('1 hour')
    expect(await two.hold()).toBe(false)
  })
})
