import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditService } from '../../src/process/audit-service.js'
import { generationQueue, startGenerationWorker } from '../../src/queue/queues.js'
import { lockKey, redisActiveGenerationLock } from '../../src/redis/active-generation-lock.js'
import {
  createFailFastRedis,
  createPatientRedis,
  createProducerRedis,
  redisProblem,
  whenReady,
} from '../../src/redis/client.js'
import { slotPrefixes } from '../../src/redis/cluster.js'
import { redisProgressBoard } from '../../src/redis/live-boards.js'
import { redisSlidingWindow } from '../../src/redis/sliding-window.js'
import { redisWipeMark, wipeMarkKey } from '../../src/redis/wipe-mark.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.js'
import { startService } from '../support/service.js'
import { redisAvailable, singleRedisUrl } from '../support/services.js'
import { until } from '../support/until.js'

const closers: (() => unknown)[] = []
const closeAll = async () => {
  for (const close of closers.splice(0).reverse()) await close()
}
/** For the tests that leave it whole. */
let whole: RedisCluster

async function newCluster(): Promise<RedisCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'easel-cluster-'))
  const cluster = await startRedisCluster(directory)
  closers.push(async () => {
    await cluster.stop()
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return cluster
}

beforeAll(async () => {
  if (redisAvailable) whole = await newCluster()
})
afterAll(closeAll)

const quiet = () => undefined

async function open(create: typeof createFailFastRedis = createPatientRedis, { url }: RedisCluster = whole) {
  const redis = create(url, quiet)
  closers.push(() => redis.disconnect())
  await whenReady(redis, 60_000)
  return redis
}

const accounts = Array.from({ length: 200 }, (_, n) => `account-${n}`)

describe.skipIf(!redisAvailable)('a Redis cluster', () => {
  it('keeps the locks of many accounts on several nodes, and sets, keeps, extends and releases them at once', async () => {
    const lock = redisActiveGenerationLock(await open(), 'locks')
    const acquire = (generationId: string) => Promise.all(accounts.map((id) => lock.acquire(id, generationId)))
    expect(new Set((await acquire('gen_a')).map(({ acquired }) => acquired))).toEqual(new Set([true]))
    expect(await acquire('gen_b')).toEqual(accounts.map(() => ({ acquired: false, holder: 'gen_a', wasStored: false })))
    expect(await lock.keep(accounts.map((accountId) => ({ accountId, generationId: 'gen_a', ttlMs: 600_000 })))).toBe(
      true,
    )
    expect(await acquire('gen_b')).toEqual(accounts.map(() => ({ acquired: false, holder: 'gen_a', wasStored: true })))
    const found: string[] = []
    for await (const page of lock.all()) found.push(...page.map(({ accountId }) => accountId))
    expect(new Set(found)).toEqual(new Set(accounts))
    expect(await lock.replace('account-0', 'gen_other', 'gen_b')).toBe(false)
    expect(await lock.replace('account-0', 'gen_a', 'gen_b')).toBe(true)
    await Promise.all(accounts.map((id) => lock.release(id, 'gen_a')))
    expect((await acquire('gen_c')).filter(({ acquired }) => !acquired)).toEqual([
      { acquired: false, holder: 'gen_b', wasStored: false },
    ])
  })

  it('counts the requests of many accounts, and shows the progress of many generations', async () => {
    const redis = await open()
    const window = redisSlidingWindow(redis, 'limits')
    const hits = await Promise.all(accounts.flatMap((id) => [0, 1].map(() => window.hit(id, 600_000, 5))))
    expect(hits.filter(({ current }) => current === 2).length).toBe(accounts.length)
    const board = redisProgressBoard(redis, 'boards')
    await Promise.all(accounts.map((id, n) => board.set(id, 1, n / 1000)))
    expect(await Promise.all(accounts.map((id) => board.get(id)))).toEqual(accounts.map((_, n) => n / 1000))
  })

  it('is taken for wiped when one node has lost its keys', async () => {
    const redis = await open()
    const mark = redisWipeMark(redis, 'wiped')
    await mark.begin()
    expect(await mark.present()).toBe(false)
    expect(await mark.finish()).toBe(true)
    expect(await mark.present()).toBe(true)
    const [, shard = ''] = slotPrefixes(redis, 'wiped')
    await redis.del(wipeMarkKey(shard))
    // Parts are looked at in turn; the one that is missing, until it is back.
    await until(async () => !(await mark.present()), 'the missing part')
    expect(await mark.present()).toBe(false)
    await mark.begin()
    await mark.finish()
    for (const _ of slotPrefixes(redis, 'wiped')) expect(await mark.present()).toBe(true)
  })

  it('brings deliveries to workers, and again after the master of their queue has died', async () => {
    const cluster = await newCluster()
    const [producer, consumer, looking] = await Promise.all([
      open(createProducerRedis, cluster),
      open(createPatientRedis, cluster),
      open(createFailFastRedis, cluster),
    ])
    const prefix = '{queue}'
    const queue = generationQueue({ kind: 'redis', redis: producer, prefix }, quiet)
    let rung = 0
    const worker = startGenerationWorker({
      ...{ connection: { kind: 'redis', redis: consumer, prefix }, concurrency: 1 },
      ...{ onJob: async () => void rung++, onError: quiet },
    })
    closers.push(
      () => queue.close(),
      () => worker.close(1000),
    )
    const deliver = async (id: string) => {
      const before = rung
      await until(() => queue.enqueue([{ id, attempt: 1 }]), 'the queue taking it')
      await until(() => rung > before, 'its delivery')
    }
    const problem = redisProblem(looking, 'queue')
    await deliver('gen_first')
    expect(await problem()).toBeUndefined()
    const master = await cluster.masterOf('{queue}:generations:id')
    master.process.kill('SIGKILL')
    await deliver('gen_second')
    await until(async () => (await problem()) === undefined, 'nothing being wrong any more')
  })

  it('is asked at the replica of a master that hangs, once that has taken over', async () => {
    const cluster = await newCluster()
    const kinds = [createFailFastRedis, createProducerRedis, createPatientRedis]
    const connections = await Promise.all(kinds.map((create) => open(create, cluster)))
    const master = await cluster.masterOf('{queue}:x')
    master.process.kill('SIGSTOP')
    closers.push(() => master.process.kill('SIGCONT'))
    for (const redis of connections) {
      // What was sent to the node that hangs may be answered never.
      const set = () => Promise.race([redis.set('{queue}:x', '1').catch(() => undefined), delay(1000, undefined)])
      await until(set, 'an answer of the replica')
    }
  })

  it('serves generations, one at a time for each account, and after a master with locks has died', async () => {
    const cluster = await newCluster()
    const service = await startService({
      ...{
        redis: false,
        worker: true,
        env: { REDIS_URL: cluster.url, INFERENCE_URL: 'preview:', RATE_LIMIT_MAX: '1000' },
      },
    })
    closers.push(() => service.close())
    const user = await givenUser(service.db, { credits: 100 })
    const submit = () => call(service.url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT })
    const draw = async () => {
      const { status, body } = await submit()
      expect(status).toBe(201)
      expect((await endOf(service, user, body.id)).status).toBe('succeeded')
    }
    await draw()
    const [first, second] = await Promise.all([submit(), submit()])
    expect([first.status, second.status].sort()).toEqual([201, 429])
    await endOf(service, user, (first.status === 201 ? first : second).body.id)
    const redis = await open(createFailFastRedis, cluster)
    const master = await cluster.masterOf(lockKey(redis, service.namespace)(user.id))
    master.process.kill('SIGKILL')
    await draw()
    await until(async () => (await redisProblem(redis, service.namespace)()) === undefined, 'the replica')
    await draw()
    // For a moment some nodes still name the dead one.
    const audit = () => auditService(service.config, { namespace: service.namespace, sample: undefined })
    const checks = await until(() => audit().catch(() => undefined), 'an audit that reaches all nodes')
    expect(checks.filter(({ violations }) => violations > 0)).toEqual([])
  })
})

describe.skipIf(!redisAvailable)('a process', () => {
  it('does not start with a cluster that may drop what it holds, or runs no scripts, and says so', async () => {
    const admins = whole.nodes.map(({ port }) => new Redis(port, '127.0.0.1').on('error', quiet))
    closers.push(() => admins.map((it) => it.disconnect()))
    const onAll = (...command: [string, ...string[]]) => Promise.all(admins.map((it) => it.call(...command)))
    await onAll('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    // A busy machine may keep it from looking in time, and then it starts.
    const refusal = () =>
      open().then(
        () => undefined,
        ({ message }: Error) => message,
      )
    expect(await until(refusal, 'the refusal')).toMatch(
      /^Redis may drop jobs and locks, because its maxmemory-policy is allkeys-lru: /,
    )
    await onAll('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    await onAll('ACL', 'SETUSER', 'default', '-@scripting')
    expect(await until(refusal, 'the refusal')).toMatch(/^The Redis cluster runs no Lua scripts for Easel: /)
    await onAll('ACL', 'SETUSER', 'default', '+@all')
    await open()
  })

  it('does not start with a single Redis that REDIS_URL calls a cluster', async () => {
    const redis = createFailFastRedis(`${await singleRedisUrl()}?cluster`.replace(/\/\d+\?/, '?'), quiet)
    closers.push(() => redis.disconnect())
    await expect(whenReady(redis, 60_000)).rejects.toThrow(
      /^REDIS_URL says that Redis is a cluster, but it is a single/,
    )
  })
})
