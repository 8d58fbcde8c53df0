import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { lockKey, redisActiveGenerationLock } from '../../src/redis/active-generation-lock.js'
import { redisAvailability } from '../../src/redis/client.js'
import type { RedisClient } from '../../src/redis/cluster.js'
import { effort, seedOf } from '../support/effort.js'
import { emptyRedis, openRedisIfAny } from '../support/test-redis.js'
import { until } from '../support/until.js'

const redis = await openRedisIfAny()
afterAll(() => redis?.disconnect())

const SEED = seedOf(7)

type Step =
  | { readonly do: 'acquire' | 'extend' | 'keep' | 'release'; readonly account: string; readonly generation: string }
  | { readonly do: 'replace'; readonly account: string; readonly generation: string; readonly holder: string }
  | { readonly do: 'wipe' }

const account = fc.constantFrom('a', 'b')
const generation = fc.constantFrom('gen_1', 'gen_2', 'gen_3')
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constantFrom('acquire', 'extend', 'keep', 'release'), account, generation }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('replace'), account, generation, holder: generation }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wipe') }) },
  ),
  { maxLength: 30 },
) as fc.Arbitrary<Step[]>

describe.skipIf(!redis)('the single-active lock in Redis', () => {
  it(`does what a map from account to holder does, whatever the order of calls (seed ${SEED})`, async () => {
    const client = redis as RedisClient
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const prefix = `t${randomBytes(6).toString('hex')}`
        const lock = redisActiveGenerationLock(client, prefix)
        const model = new Map<string, string>()
        const stored = new Set<string>()
        for (const step of sequence) {
          if (step.do === 'wipe') {
            await emptyRedis(client)
            model.clear()
            stored.clear()
          } else if (step.do === 'acquire') {
            const held = model.get(step.account)
            const free = held === undefined || held === step.generation
            expect(await lock.acquire(step.account, step.generation)).toEqual(
              free ? { acquired: true } : { acquired: false, holder: held, wasStored: stored.has(step.account) },
            )
            if (free) model.set(step.account, step.generation)
          } else if (step.do === 'replace') {
            const held = model.get(step.account)
            const may = held === undefined || held === step.holder
            expect(await lock.replace(step.account, step.holder, step.generation)).toBe(may)
            if (may) {
              model.set(step.account, step.generation)
              stored.delete(step.account)
            }
          } else if (step.do === 'extend') {
            // What is not held, as by a generation that has ended meanwhile, stays so.
            await lock.extend({ accountId: step.account, generationId: step.generation, ttlMs: 60_000 })
            if (model.get(step.account) === step.generation) stored.add(step.account)
          } else if (step.do === 'keep') {
            const { account: accountId, generation: generationId } = step
            expect(await lock.keep([{ accountId, generationId, ttlMs: 60_000 }])).toBe(true)
            if (!model.has(accountId)) model.set(accountId, generationId)
            if (model.get(accountId) === generationId) stored.add(accountId)
          } else {
            await lock.release(step.account, step.generation)
            if (model.get(step.account) === step.generation) {
              model.delete(step.account)
              stored.delete(step.account)
            }
          }
        }
        const held: [string, string][] = []
        for await (const page of lock.all()) for (const each of page) held.push([each.accountId, each.generationId])
        expect(held.sort()).toEqual([...model].sort())
      }),
      { seed: SEED, numRuns: 150 * effort },
    )
  })

  it('can be extended by its holder only', async () => {
    const client = redis as RedisClient
    const prefix = `t${randomBytes(6).toString('hex')}`
    const lock = redisActiveGenerationLock(client, prefix)
    await lock.acquire('a', 'gen_1')
    const ttl = async () => client.pttl(lockKey(client, prefix)('a'))
    await lock.extend({ accountId: 'a', generationId: 'gen_2', ttlMs: 900_000 })
    expect(await ttl()).toBeLessThanOrEqual(15_000)
    await lock.extend({ accountId: 'a', generationId: 'gen_1', ttlMs: 900_000 })
    expect(await ttl()).toBeGreaterThan(800_000)
  })

  it('is released once Redis answers again, if its holder asked for it meanwhile', async () => {
    const client = redis as RedisClient
    const prefix = `t${randomBytes(6).toString('hex')}`
    const availability = redisAvailability()
    const lock = redisActiveGenerationLock(client, prefix, availability)
    const held = ['a', 'b'].map((accountId) => ({ accountId, generationId: 'gen_1', ttlMs: 60_000 }))
    await lock.keep(held)
    const failure = availability.run(() => Promise.reject(new Error('Command timed out')))
    await failure.catch(() => undefined)
    await Promise.all([lock.release('a', 'gen_1'), lock.release('b', 'gen_2')])
    expect(await client.exists(lockKey(client, prefix)('a'))).toBe(1)
    await until(async () => !(await client.exists(lockKey(client, prefix)('a'))), 'the release')
    expect(await client.get(lockKey(client, prefix)('b'))).toBe('gen_1')
  })

  it('goes to exactly one of many that take it at once', async () => {
    const lock = redisActiveGenerationLock(redis as RedisClient, `t${randomBytes(6).toString('hex')}`)
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => lock.acquire('a', `gen_${i}`)))
    expect(answers.filter(({ acquired }) => acquired)).toHaveLength(1)
  })
})
