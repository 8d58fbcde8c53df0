import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { SEED_MODELS } from '../../src/core/catalog/model-version.js'
import { openGenerationQueue } from '../../src/queue/queues.js'
import { createPatientRedis } from '../../src/redis/client.js'
import { type OwnRedis, startOwnRedis } from '../redis/own-redis.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.js'
import { chargesOf, type GivenUser, givenGeneration, givenUser, MODEL, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'

/** What the service does while Redis is in problem: troubled-redis.test.ts and, for slow problems, the long one. */
let gpu: A1111StandIn
let server: OwnRedis
let network: FaultProxy
let service: Service
/** Past the network. */
let admin: Redis

interface Trouble {
  begin(): Promise<unknown> | unknown
  end(): Promise<unknown> | unknown
}
const set = (...settings: string[]) => admin.config('SET', ...(settings as [string, string]))
const errorOf = (work: Promise<unknown>) => work.then(() => '', String)

const TROUBLES = {
  'refuses connections': { begin: () => network.refuse(), end: () => network.pass() },
  'stands still': { begin: () => server.pause(), end: () => server.resume() },
  'is loading its data': loading(),
  'evicts keys': {
    async begin() {
      // BullMQ complains to the console each time it looks.
      vi.spyOn(console, 'warn').mockImplementation(() => undefined)
      const used = /used_memory:(\d+)/.exec(await admin.info('memory'))?.[1] ?? ''
      await set('maxmemory-policy', 'allkeys-random', 'maxmemory', used)
    },
    async end() {
      await set('maxmemory-policy', 'noeviction', 'maxmemory', '0')
      vi.restoreAllMocks()
    },
  },
  'is out of memory': {
    async begin() {
      await set('maxmemory', '1')
      expect(await errorOf(admin.set('x', 'x'))).toMatch(/OOM/)
    },
    end: () => set('maxmemory', '0'),
  },
  'is a replica, which takes no writes': {
    async begin() {
      await admin.replicaof('127.0.0.1', 1)
      expect(await errorOf(admin.set('x', 'x'))).toMatch(/READONLY/)
    },
    end: () => admin.replicaof('NO', 'ONE'),
  },
} satisfies Record<string, Trouble>

/** It becomes a replica of a Redis whose data takes long to load, and is set free afterwards. */
function loading(): Trouble {
  let master: OwnRedis
  return {
    async begin() {
      master = await startOwnRedis()
      const other = new Redis(master.url)
      await other.eval(`for i = 1, 20000 do redis.call('SET', 'key' .. i, 'x') end`, 0)
      other.disconnect()
      await set('key-load-delay', '2000')
      // So that it answers while it loads; where that can't be set it answers late.
      await set('loading-process-events-interval-bytes', '1024').catch(() => undefined)
      await admin.replicaof('127.0.0.1', master.port)
      await until(async () => /LOADING/.test(await errorOf(admin.get('x'))), 'the loading')
    },
    async end() {
      await set('key-load-delay', '0')
      await until(async () => !/LOADING/.test(await errorOf(admin.get('x'))), 'the end of the loading')
      await admin.replicaof('NO', 'ONE')
      await master.kill()
    },
  }
}

/** A model that no server has, so that what asks for it stays active. */
const NOWHERE = 'nowhere.safetensors'
const SMALL = { width: 256, height: 256 }
const post = ({ key }: GivenUser) =>
  call(service.url, 'POST', '/api/v1/generate', { key, body: { ...PROMPT, ...SMALL } })

async function submit(user: GivenUser): Promise<string> {
  const { status, body } = await post(user)
  expect(status).toBe(201)
  return body.id
}

const createImage = ({ key }: GivenUser) =>
  call(service.url, 'POST', '/v1/images/generate', { key, body: { prompt: 'a lighthouse', ...SMALL } })

const running = async (id: string) => (await rowOf(service.db, { id })).status === 'processing'
const succeeds = async (user: GivenUser, id: string) =>
  expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })

export function testTroubles(problems: readonly (keyof typeof TROUBLES)[]): void {
  beforeAll(async () => {
    if (!redisAvailable) return
    server = await startOwnRedis()
    network = await startFaultProxy(server.url)
    admin = new Redis(server.url)
    gpu = await startA1111StandIn({ models: SEED_MODELS.map(({ filename }) => filename) })
    service = await startService({
      redis: true,
      env: { REDIS_URL: network.through(server.url), INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '100000' },
    })
    await service.worker({ jobTimes: { lockMs: 2000, stalledMs: 500 }, times: { pollMs: 100 } })
  })
  afterAll(async () => {
    await service?.close()
    admin?.disconnect()
    await gpu?.close()
    await network?.close()
    await server?.kill()
  })

  describe.skipIf(!redisAvailable)('while Redis', () => {
    it.each(problems)('%s, submits are answered and charged once, and their images are made', async (problem) => {
      const { begin, end } = TROUBLES[problem]
      const [first, second, third, busy] = [
        await givenUser(service.db),
        await givenUser(service.db),
        await givenUser(service.db),
        await givenUser(service.db),
      ]
      await givenGeneration(service.db, busy, { model: { ...MODEL, filename: NOWHERE } })
      gpu.set({ held: true })
      const amid = await submit(first)
      await until(() => running(amid), 'the start')
      await begin()
      gpu.set({ held: false })
      try {
        // Whoever submits is told so and charged once; whoever has one active is refused all the same.
        const during = await submit(second)
        expect(await post(busy)).toMatchObject({ status: 429 })
        // Whoever waits for an image gets it.
        const image = createImage(third)
        await succeeds(first, amid)
        // Nobody is locked out by what they had.
        const next = await submit(first)
        await succeeds(second, during)
        await succeeds(first, next)
        expect(await image).toMatchObject({ status: 200, body: { success: true } })
      } finally {
        await end()
      }
      const after = [await submit(first), await submit(second)] as const
      await succeeds(first, after[0])
      await succeeds(second, after[1])
      for (const [user, times] of [
        [first, 3],
        [second, 2],
        [third, 1],
      ] as const) {
        expect(await chargesOf(service.db, user)).toEqual(Array(times).fill(['charge', -1]))
      }
    })
  })

  describe.skipIf(!redisAvailable)('when Redis is well again', () => {
    it('no delivery is left in the queue, and none has run a generation twice', async () => {
      const redis = createPatientRedis(server.url, () => undefined)
      const deliveries = openGenerationQueue({ kind: 'redis', redis, prefix: `{${service.namespace}}` })
      onTestFinished(() => redis.disconnect())
      // Some were heard but could not be acknowledged: they ring once more when BullMQ's lock on them has run out.
      // (One whose record was evicted in half may be kept as completed.)
      const pending = () => deliveries.getJobCountByTypes('waiting', 'active', 'delayed', 'prioritized')
      await until(async () => (await pending()) === 0, 'the end of all deliveries')
      const { rows } = await service.db.pool.query(
        'SELECT DISTINCT status, attempt, tries FROM generations WHERE filename <> $1',
        [NOWHERE],
      )
      expect(rows).toEqual([{ status: 'succeeded', attempt: 1, tries: 0 }])
      expect(gpu.asked()).toHaveLength(6 * problems.length)
    })
  })
}
