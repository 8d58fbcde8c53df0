import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockKey } from '../../src/redis/active-generation-lock.js'
import { keyPattern } from '../../src/redis/cluster.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { chargesOf, givenUser, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { emptyRedis, keysLike, openRedis } from '../support/test-redis.js'
import { until } from '../support/until.js'
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.js'
import { QUICK } from '../support/worker-times.js'

const SMALL = { ...PROMPT, width: 256, height: 256 }
let gpu: A1111StandIn
let service: Service
let processes: WorkerProcess[] = []

beforeEach(async () => {
  gpu = await startA1111StandIn()
  gpu.set({ held: true })
  const env = { RATE_LIMIT_MAX: '100000', INFERENCE_URL: gpu.inferenceUrl }
  // Child processes know no test namespace, so this service uses the default one, in a Redis database of its own.
  service = await startService({ env, server: { namespace: 'easel' } })
})
afterEach(async () => {
  for (const worker of processes) worker.kill('SIGKILL')
  await Promise.all(processes.map(({ ended }) => ended))
  processes = []
  await service.close()
  await gpu.close()
})

async function workerProcess(): Promise<WorkerProcess> {
  const started = await startWorkerProcess(service.config, { INFERENCE_URL: gpu.inferenceUrl })
  processes.push(started)
  return started
}

const worker = () => service.worker({ namespace: 'easel', times: QUICK })

async function submit() {
  const user = await givenUser(service.db)
  const { body } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body: SMALL })
  return { user, id: body.id as string }
}

const status = async (id: string) => (await rowOf(service.db, { id })).status
const isProcessing = async (id: string) => (await status(id)) === 'processing'

/** As if the seconds of its lease had passed since its worker renewed it last. */
const endLease = (id: string) => service.db.pool.query('UPDATE generations SET lease_until = now() WHERE id = $1', [id])

describe('a worker that is killed while its GPU draws', () => {
  it('leaves a generation that another worker draws, with one charge and one set of images', async () => {
    const victim = await workerProcess()
    const { user, id } = await submit()
    await gpu.seen(({ path }) => path === '/sdapi/v1/txt2img')
    victim.kill('SIGKILL')
    await victim.ended
    await worker()
    await endLease(id)
    await until(async () => (await rowOf(service.db, { id })).attempt === 2 && isProcessing(id), 'the second attempt')
    gpu.set({ held: false })
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 2, tries: 0, deaths: 1 })
    expect(await chargesOf(service.db, user)).toEqual([['charge', -1]])
    const { rows } = await service.db.pool.query('SELECT slug FROM images WHERE generation_id = $1', [id])
    expect(rows).toHaveLength(1)
  })
})

describe('a worker that gets SIGTERM while its GPU draws', () => {
  it('ends after that generation, and claims no other', async () => {
    const only = await workerProcess()
    const { user, id } = await submit()
    await gpu.seen(({ path }) => path === '/sdapi/v1/txt2img')
    only.kill('SIGTERM')
    await until(() => only.readLog().includes('SIGTERM'), 'the signal being noticed')
    const next = await submit()
    gpu.set({ held: false })
    expect(await only.ended).toBe(0)
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 1, tries: 0 })
    expect(await status(next.id)).toBe('queued')
  })
})

describe('a worker that ends because of an error that nobody caught', () => {
  it('counts as one that died under what it has not finished', async () => {
    const only = await service.worker({ namespace: 'easel', drainMs: 100 })
    const { id } = await submit()
    await gpu.seen(({ path }) => path === '/sdapi/v1/txt2img')
    await only.stop(true)
    expect(await status(id)).toBe('processing')
    await endLease(id)
    await until(async () => (await status(id)) === 'queued', 'the generation being put back')
    expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 2, tries: 0, deaths: 1 })
  })
})

describe.skipIf(!redisAvailable)('a Redis that is flushed while generations wait and one runs', () => {
  it('gets its locks and its queue back, and all generations succeed', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, submit))
    const redis = await openRedis(service.config.redisUrl)
    await worker()
    await gpu.seen(({ path }) => path === '/sdapi/v1/txt2img')
    await emptyRedis(redis)
    for (const { user, id } of all)
      await until(async () => (await redis.get(lockKey(redis, 'easel')(user.id))) === id, 'the lock being back')
    gpu.set({ held: false })
    for (const each of all) expect(await endOf(service, each.user, each.id)).toMatchObject({ status: 'succeeded' })
    for (const each of all) expect(await chargesOf(service.db, each.user)).toEqual([['charge', -1]])
    await until(
      async () => (await keysLike(redis, keyPattern(redis, 'easel', 'lock:'))).length === 0,
      'the locks being released',
    )
    redis.disconnect()
  })
})
