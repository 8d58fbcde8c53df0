import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorker } from '../../src/start-worker.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { chargesOf, givenUser, rowOf } from '../support/givens.js'
import { type Service, silentLog, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.js'

const SMALL = { ...PROMPT, width: 256, height: 256 }
let gpu: A1111StandIn
let service: Service
let workers: WorkerProcess[] = []

beforeEach(async () => {
  gpu = await startA1111StandIn()
  // Child processes know no test namespace, so this service uses the default one, in a Redis database of its own.
  service = await startService({ env: { RATE_LIMIT_MAX: '100000' }, server: { namespace: 'easel' } })
})
afterEach(async () => {
  for (const worker of workers) worker.kill('SIGKILL')
  await Promise.all(workers.map(({ ended }) => ended))
  workers = []
  await service.close()
  await gpu.close()
})

async function worker(): Promise<WorkerProcess> {
  const started = await startWorkerProcess(service.config, { INFERENCE_URL: gpu.inferenceUrl })
  workers.push(started)
  return started
}

async function submit() {
  const user = await givenUser(service.db)
  const { body } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body: SMALL })
  return { user, id: body.id as string }
}

const status = async (id: string) => (await rowOf(service.db, { id })).status

describe('a worker killed in mid-job', () => {
  it('is replaced: the job runs again within 20 s, with one charge and one set of images', async () => {
    gpu.set({ latencyMs: 1500 })
    const [first, second] = [await worker(), await worker()]
    const { user, id } = await submit()
    await until(async () => (await status(id)) === 'processing', 'the start')
    const running = (await rowOf(service.db, { id })).worker as string
    const victim = running.includes(`-${first.pid}-`) ? first : second
    victim.kill('SIGKILL')
    const killedAt = performance.now()
    await until(
      async () => (await rowOf(service.db, { id })).attempt === 2 && (await status(id)) === 'processing',
      'the second run',
      25_000,
    )
    expect(performance.now() - killedAt).toBeLessThan(20_000)
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect(await chargesOf(service.db, user)).toEqual([['charge', -1]])
    const { rows } = await service.db.pool.query('SELECT slug FROM images WHERE generation_id = $1', [id])
    expect(rows).toHaveLength(1)
  }, 45_000)

  it('is stopped by SIGTERM only after its job, and claims no other', async () => {
    gpu.set({ latencyMs: 700 })
    const only = await worker()
    const { user, id } = await submit()
    await until(async () => (await status(id)) === 'processing', 'the start')
    only.kill('SIGTERM')
    const next = await submit()
    expect(await only.ended).toBe(0)
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 1, tries: 0 })
    expect(await status(next.id)).toBe('queued')
  }, 30_000)
})

describe('a worker that ends for an error that nobody caught', () => {
  it('counts as one that died under what it has not finished', async () => {
    gpu.set({ latencyMs: 60_000 })
    const config = { ...service.config, inferenceUrls: [gpu.inferenceUrl] }
    const only = await startWorker(config, silentLog(), { namespace: 'easel', drainMs: 100 })
    const { id } = await submit()
    await until(async () => (await status(id)) === 'processing', 'the start')
    await only.stop(true)
    expect(await status(id)).toBe('processing')
    await until(async () => (await status(id)) === 'queued', 'the end of its lease', 15_000)
    expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 2, tries: 0, deaths: 1 })
  }, 30_000)
})

describe.skipIf(!redisAvailable)('Redis flushed', () => {
  it('while jobs wait and one runs: all of them finish, and locks and queue are as before', async () => {
    gpu.set({ latencyMs: 600 })
    const waiting = await Promise.all(Array.from({ length: 8 }, submit))
    const redis = new Redis(service.config.redisUrl as string)
    await worker()
    await until(async () => (await Promise.all(waiting.map(({ id }) => status(id)))).includes('processing'), 'a start')
    await redis.flushdb()
    const [{ user, id }] = waiting.slice(-1) as [(typeof waiting)[number]]
    await until(async () => (await redis.get(`easel:lock:${user.id}`)) === id, 'the lock being back')
    for (const each of waiting) expect(await endOf(service, each.user, each.id)).toMatchObject({ status: 'succeeded' })
    for (const each of waiting) expect(await chargesOf(service.db, each.user)).toEqual([['charge', -1]])
    await until(async () => (await redis.keys('easel:lock:*')).length === 0, 'the locks being released')
    redis.disconnect()
  }, 30_000)
})
