import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import type { Generation } from '../../../src/core/generations/generation.js'
import type { ActiveGenerationLock, Delivery, GenerationQueue } from '../../../src/core/generations/ports.js'
import { SUBMIT_LOCK_MS } from '../../../src/core/generations/ports.js'
import type { Submission, SubmissionStore } from '../../../src/core/generations/submit/ports.js'
import { submitGeneration } from '../../../src/core/generations/submit/submit.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import {
  lockKey,
  noActiveGenerationLock,
  redisActiveGenerationLock,
} from '../../../src/redis/active-generation-lock.js'
import type { RedisClient } from '../../../src/redis/cluster.js'
import { useDatabase } from '../../support/database.js'
import { noQueue } from '../../support/fake-ports.js'
import { aGeneration, chargesOf, type GivenUser, givenUser, MODEL, REQUEST } from '../../support/givens.js'
import { openRedisIfAny } from '../../support/test-redis.js'
import { until } from '../../support/until.js'

const context = useDatabase()
const redis = await openRedisIfAny()
afterAll(() => redis?.disconnect())

async function submitWith(
  user: GivenUser,
  ports: { lock?: ActiveGenerationLock; submissions?: SubmissionStore; queue?: GenerationQueue } = {},
  active?: Submission['active'],
) {
  const asked = { lane: 'personal', request: REQUEST, model: async () => MODEL, idempotency: undefined } as const
  const subscription = { status: 'active', plan: 'Pro', endDate: new Date(Date.now() + 60_000) }
  const account = { id: user.id, username: user.username, credits: 100, subscription, deleted: false }
  return submitGeneration(
    {
      moderator: { review: async () => ({ flagged: false }) },
      refusedPrompts: { note: () => undefined },
      idempotency: {
        reserve: async () => ({ outcome: 'reserved' }),
        release: async () => undefined,
        find: async () => undefined,
      },
      queue: noQueue,
      timeLeft: async () => undefined,
      generationDeadlineSeconds: 900,
      lock: noActiveGenerationLock,
      submissions: submissionStore(context.db),
      ...ports,
    },
    {
      account,
      keyId: user.keyId,
      keyKind: 'personal',
      keyModels: null,
      keyMonthlyLimit: null,
      planLimits: null,
      catalogRevision: null,
    },
    { ...asked, omitted: [], active },
  )
}

describe('the job of a submitted generation', () => {
  const noted = async (id: string) =>
    (await context.db.pool.query('SELECT FROM unenqueued WHERE generation_id = $1', [id])).rowCount === 1

  it('is noted as missing in the statement that stores the generation, until it has reached the queue', async () => {
    const duringEnqueue: boolean[] = []
    const ring = async ([delivery]: readonly Delivery[]) => {
      duringEnqueue.push(await noted(delivery?.id ?? ''))
      return true
    }
    const { id } = await submitWith(await givenUser(context.db), {
      queue: { ...noQueue, enqueue: ring },
    })
    await expect.poll(() => duringEnqueue).toEqual([true])
    await until(async () => !(await noted(id)), 'the note to be struck out')
  })

  it('stays noted as missing if the queue did not take it', async () => {
    const queue = { ...noQueue, enqueue: async () => false }
    const { id } = await submitWith(await givenUser(context.db), { queue })
    expect(await noted(id)).toBe(true)
  })
})

describe('a submit whose active generation was read ahead', () => {
  const noLock: ActiveGenerationLock = {
    ...noActiveGenerationLock,
    acquire: () => Promise.reject(new Error('the lock was asked for')),
  }
  const readAhead = (user: GivenUser) => {
    const active = submissionStore(context.db).activeGeneration(user.id)
    return () => active
  }

  it('is refused without asking for the lock, and told which one is active', async () => {
    const user = await givenUser(context.db)
    const { id } = await submitWith(user)
    await expect(submitWith(user, { lock: noLock }, readAhead(user))).rejects.toMatchObject({
      code: 'active_generation',
      detail: { generationId: id },
    })
  })

  it('asks for the lock if none was active', async () => {
    const user = await givenUser(context.db)
    await expect(submitWith(user, { lock: noLock }, readAhead(user))).rejects.toThrow('the lock was asked for')
  })

  it('is refused if another generation has become active since', async () => {
    const user = await givenUser(context.db)
    const before = readAhead(user)
    await before()
    const { id } = await submitWith(user)
    await expect(submitWith(user, {}, before)).rejects.toMatchObject({ detail: { generationId: id } })
    expect(await chargesOf(context.db, user)).toEqual([['charge', -1]])
  })
})

const STORED_TTL_MS = 960_000

/**
 * A submit meets a lock whose holder Postgres does not know. Either the holder's own submit is under way, or Postgres has
 * lost it to a failover or a restore. What tells them apart is how long the lock lasts, read in the very moment in which
 * it refused, before Postgres is asked: only after the holder's insert was answered is a lock ever made to last longer
 * than 15 s. So for a holder H and the submit B that meets it, however long either pauses between any two steps:
 *
 *  - H has not stored yet when B asks: the lock was short. B is refused.
 *  - H stores and extends after B has read the lock and before B asks for what is active: B is refused and told H.
 *  - H does so after that and before B asks for H: B takes H for one that has ended, and the index refuses B. H's lock is
 *    gone until the reconciler sets it anew; the index guards alone.
 *  - H stored and extended before B read the lock: Postgres knows H, or has lost it. Lost: B takes the lock over, unless
 *    somebody else has done so since, and H's own late extension finds a lock that is not H's.
 *  - H pauses for longer than its lock lasts: the lock is free for B, and the index lets one of the two in.
 *  - Redis's clock is set back while H is between lock and insert: its lock seems long. B takes it over, and again the
 *    index lets one of the two in.
 */
describe.skipIf(!redis)('a lock whose holder Postgres does not know', () => {
  const client = redis as RedisClient
  const prefix = `t${randomBytes(6).toString('hex')}`
  const lock = client ? redisActiveGenerationLock(client, prefix) : noActiveGenerationLock
  const keyOf = (id: string) => lockKey(client, prefix)(id)
  const holderOf = ({ id }: GivenUser) => client.get(keyOf(id))
  const givenLock = ({ id }: GivenUser, holder: string, ttlMs: number) => client.set(keyOf(id), holder, 'PX', ttlMs)

  const submit: typeof submitWith = (user, ports) => submitWith(user, { lock, ...ports })
  const storeAndExtend = async ({ accountId, ...generation }: Generation) => {
    const options = { deadlineSeconds: 900, idempotencyKey: undefined }
    const { outcome } = await submissionStore(context.db).insert({ accountId, ...generation }, options)
    await lock.extend({ accountId, generationId: generation.id, ttlMs: STORED_TTL_MS })
    return outcome
  }
  const refused = { code: 'active_generation' }

  it('refuses a submit while it lasts no longer than another submit’s would', async () => {
    const user = await givenUser(context.db)
    await givenLock(user, 'gen_under_way', SUBMIT_LOCK_MS)
    await expect(submit(user)).rejects.toMatchObject(refused)
    expect(await holderOf(user)).toBe('gen_under_way')
  })

  it.each([
    ['was extended for a row that is lost', STORED_TTL_MS],
    ['was made to last for ever', 0],
  ])('is taken over when it %s', async (_why, ttlMs) => {
    const user = await givenUser(context.db)
    await givenLock(user, 'gen_lost', ttlMs || STORED_TTL_MS)
    if (!ttlMs) await client.persist(keyOf(user.id))
    const { id } = await submit(user)
    expect(await holderOf(user)).toBe(id)
    // The lost one's submit, had it been paused since its insert.
    await lock.extend({ accountId: user.id, generationId: 'gen_lost', ttlMs: STORED_TTL_MS })
    expect(await holderOf(user)).toBe(id)
  })

  it('is not taken over by a submit if another one was faster', async () => {
    const user = await givenUser(context.db)
    await givenLock(user, 'gen_lost', STORED_TTL_MS)
    const slow: ActiveGenerationLock = {
      ...lock,
      async replace(...given) {
        await givenLock(user, 'gen_faster', SUBMIT_LOCK_MS)
        return lock.replace(...given)
      },
    }
    await expect(submit(user, { lock: slow })).rejects.toMatchObject(refused)
    expect(await holderOf(user)).toBe('gen_faster')
  })

  it('stays with a submit that stored its row between our read of the lock and our takeover', async () => {
    const user = await givenUser(context.db)
    const holder = aGeneration(user)
    await givenLock(user, holder.id, SUBMIT_LOCK_MS)
    const paused: ActiveGenerationLock = {
      ...lock,
      async acquire(...given) {
        const taken = await lock.acquire(...given)
        await storeAndExtend(holder)
        return taken
      },
    }
    await expect(submit(user, { lock: paused })).rejects.toMatchObject({
      ...refused,
      detail: { generationId: holder.id },
    })
    expect(await holderOf(user)).toBe(holder.id)
    expect(await chargesOf(context.db, user)).toEqual([['charge', -1]])
  })

  it('leads to one charge if its holder stores its row between our two questions to Postgres', async () => {
    const user = await givenUser(context.db)
    const holder = aGeneration(user)
    await givenLock(user, holder.id, SUBMIT_LOCK_MS)
    const submissions = submissionStore(context.db)
    const paused: SubmissionStore = {
      ...submissions,
      async activeGeneration(accountId) {
        const active = await submissions.activeGeneration(accountId)
        await storeAndExtend(holder)
        return active
      },
    }
    await expect(submit(user, { submissions: paused })).rejects.toMatchObject({
      ...refused,
      detail: { generationId: holder.id },
    })
    expect(await chargesOf(context.db, user)).toEqual([['charge', -1]])
  })

  it('leads to one charge if it seems long because Redis’s clock was set back during a submit', async () => {
    const user = await givenUser(context.db)
    const holder = aGeneration(user)
    await givenLock(user, holder.id, 45_000)
    const { id } = await submit(user)
    expect(await storeAndExtend(holder)).toBe('active')
    await lock.release(user.id, holder.id)
    expect(await holderOf(user)).toBe(id)
    expect(await chargesOf(context.db, user)).toEqual([['charge', -1]])
  })
})
