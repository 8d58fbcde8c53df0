import type { Queue } from 'bullmq'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cancelStore } from '../../src/db/generations/end.js'
import { openGenerationQueue } from '../../src/queue/queues.js'
import { createPatientRedis } from '../../src/redis/client.js'
import type { RedisClient } from '../../src/redis/cluster.js'
import { startProxy, type TcpProxy } from '../programs/chaos/proxy.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { chargesOf, type GivenUser, givenGeneration, givenUser, MODEL, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable, singleRedisUrl } from '../support/services.js'
import { emptyRedis, openRedis } from '../support/test-redis.js'
import { until } from '../support/until.js'

let gpu: A1111StandIn
let network: TcpProxy
let service: Service
/** Past the network. */
let inside: RedisClient
let deliveries: Queue

beforeAll(async () => {
  if (!redisAvailable) return
  const url = await singleRedisUrl()
  inside = await openRedis(url)
  network = await startProxy(Number(new URL(url).port))
  gpu = await startA1111StandIn()
  service = await startService({
    worker: true,
    env: {
      REDIS_URL: Object.assign(new URL(url), { port: String(network.port) }).href,
      INFERENCE_URL: gpu.inferenceUrl,
      RATE_LIMIT_MAX: '100000',
    },
  })
  // Another one that hears what the first is too busy for.
  await service.worker()
  deliveries = openGenerationQueue({
    kind: 'redis',
    redis: createPatientRedis(url, () => undefined),
    prefix: `{${service.namespace}}`,
  })
})
afterAll(async () => {
  await deliveries?.close()
  await service?.close()
  await gpu?.close()
  network?.close()
  inside?.disconnect()
})
afterEach(() => gpu?.set({ held: false }))

async function submit(user?: GivenUser) {
  const owner = user ?? (await givenUser(service.db))
  const body = { ...PROMPT, width: 256, height: 256 }
  const { status, body: submitted } = await call(service.url, 'POST', '/api/v1/generate', { key: owner.key, body })
  expect(status).toBe(201)
  return { user: owner, id: submitted.id as string }
}

/** One that runs because of its delivery, which is in BullMQ's hands until the GPU is let go on. */
async function givenRunning() {
  gpu.set({ held: true })
  return until(async () => {
    const asked = gpu.asked().length
    const running = await submit()
    await until(() => gpu.asked().length > asked, 'its inference')
    const lock = `{${service.namespace}}:generations:${running.id}-1:lock`
    // Deliveries that nobody knows are acknowledged meanwhile: whoever only acknowledges its delivery has long done so.
    for (let n = 0; n < 5; n++) {
      const jobId = `gen_unknown-${running.id}-${n}`
      await deliveries.add('generation', {}, { jobId, removeOnComplete: true })
      await until(async () => (await deliveries.getJobState(jobId)) === 'unknown', 'its acknowledgement')
    }
    if (await inside.exists(lock)) return { ...running, asked, lock }
    // A worker happened to look by itself.
    gpu.set({ held: false })
    await endOf(service, running.user, running.id)
    gpu.set({ held: true })
    return undefined
  }, 'a generation that was rung for')
}

/** One attempt, one charge, and its account is free for the next one. */
async function expectOneRun({ user, id, asked }: Awaited<ReturnType<typeof givenRunning>>) {
  gpu.set({ held: false })
  expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
  const next = await submit(user)
  expect(await endOf(service, user, next.id)).toMatchObject({ status: 'succeeded' })
  await heardOut()
  expect(await rowOf(service.db, { id })).toMatchObject({ status: 'succeeded', attempt: 1, tries: 0 })
  expect(await chargesOf(service.db, user)).toEqual([
    ['charge', -1],
    ['charge', -1],
  ])
  expect(gpu.asked()).toHaveLength(asked + 2)
}

async function heardOut() {
  const left = async () => {
    const { completed, failed, ...pending } = await deliveries.getJobCounts()
    return Object.values(pending).every((count) => count === 0)
  }
  await until(left, 'all deliveries being heard')
}

describe.skipIf(!redisAvailable)('a delivery', () => {
  it('of a generation that does not exist or has ended is acknowledged and changes nothing', async () => {
    const user = await givenUser(service.db)
    // No worker ran it, so that none is still clearing up after it.
    const { id } = await givenGeneration(service.db, user, { model: { ...MODEL, filename: 'nowhere.safetensors' } })
    await cancelStore(service.db).cancel(id, 'Canceled.', { onlyQueued: true })
    const before = await rowOf(service.db, { id })
    const asked = gpu.asked().length
    const ghosts = ['gen_unknown-1', `${id}-2`, `${id}-99`, 'nonsense', '-', `${id}-1`]
    // Kept when done, so that what became of them can be seen: but not the last if the reconciler had enqueued it before.
    await deliveries.addBulk(ghosts.map((jobId) => ({ name: 'generation', data: { prompt: 'x' }, opts: { jobId } })))
    await heardOut()
    const ends = await Promise.all(ghosts.map((jobId) => deliveries.getJobState(jobId)))
    expect(ends.slice(0, -1)).toEqual(Array(5).fill('completed'))
    expect(ends.at(-1)).toMatch(/^(completed|unknown)$/)
    expect(await rowOf(service.db, { id })).toEqual(before)
    expect(gpu.asked()).toHaveLength(asked)
    expect(await chargesOf(service.db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
  })

  it('that is repeated four times while its generation runs starts nothing', async () => {
    const running = await givenRunning()
    const again = ['1', '2', '3', '4'].map((attempt) => `${running.id}-${attempt}`)
    await deliveries.addBulk(again.map((jobId) => ({ name: 'generation', data: {}, opts: { jobId } })))
    const allButItsOwn = async () => {
      const { waiting, prioritized, active } = await deliveries.getJobCounts()
      return waiting === 0 && prioritized === 0 && active === 1
    }
    await until(allButItsOwn, 'all others being heard')
    await expectOneRun(running)
  })

  it('whose lock BullMQ has lost neither stops its running generation nor starts it again', async () => {
    const running = await givenRunning()
    expect(await inside.del(running.lock)).toBe(1)
    await expectOneRun(running)
  })

  it('that is lost because Redis is emptied does not stop its running generation', async () => {
    const running = await givenRunning()
    await emptyRedis(inside)
    await expectOneRun(running)
  })

  it('whose acknowledgement is lost on the network neither runs its finished generation again nor fails it', async () => {
    const running = await givenRunning()
    // BullMQ's moveToFinished, told by its keys.
    network.cutReplies(/:stalled\r\n[\s\S]*:completed\r\n/, 1)
    gpu.set({ held: false })
    await until(() => network.swallowed() > 0, 'the acknowledgement')
    await expectOneRun(running)
  })
})
