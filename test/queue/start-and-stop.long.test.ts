import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OwnRedis, startOwnRedis } from '../redis/own-redis.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.js'
import { chargesOf, givenUser, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until, within } from '../support/until.js'
import { startWorkerProcess } from '../support/worker-process.js'

let gpu: A1111StandIn
let redis: OwnRedis
let network: FaultProxy
let service: Service
beforeEach(async () => {
  gpu = await startA1111StandIn()
  redis = await startOwnRedis()
  network = await startFaultProxy(redis.url)
  service = await startService({
    redis: true,
    env: { REDIS_URL: network.through(redis.url), INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '100000' },
    // Worker processes know no test namespace.
    server: { namespace: 'easel' },
  })
})
afterEach(async () => {
  redis.resume()
  await service.close()
  await network.close()
  await redis.kill()
  await gpu.close()
})

const AWAY: [string, () => unknown][] = [
  ['refuses connections', () => network.refuse()],
  ['stands still', () => redis.pause()],
]
const back = async () => {
  await network.pass()
  redis.resume()
}

/** Only to fail what never ends: Redis stays away meanwhile. */
const ENDLESS_MS = 60_000

async function submit(url = service.url) {
  const user = await givenUser(service.db)
  const body = { ...PROMPT, width: 256, height: 256 }
  const { status, body: submitted } = await call(url, 'POST', '/api/v1/generate', { key: user.key, body })
  expect(status).toBe(201)
  return { user, id: submitted.id as string }
}

describe.skipIf(!redisAvailable)('while Redis', () => {
  it.each(AWAY)('%s, server and worker start, do their work and stop', async (_name, goAway) => {
    await goAway()
    // Each gives Redis two seconds, and then goes without.
    const starting = Promise.all([service.server(), service.worker({ namespace: 'easel', times: { pollMs: 100 } })])
    const [server, worker] = await within(ENDLESS_MS, starting, 'the start')
    const during = await submit(server.url)
    expect(await endOf(service, during.user, during.id)).toMatchObject({ status: 'succeeded' })
    await back()
    const after = await submit(server.url)
    expect(await endOf(service, after.user, after.id)).toMatchObject({ status: 'succeeded' })
    expect(await chargesOf(service.db, during.user)).toEqual([['charge', -1]])
    expect(gpu.asked()).toHaveLength(2)
    await goAway()
    await within(ENDLESS_MS, Promise.all([server.stop(), worker.stop()]), 'the stop')
  })

  it('stands still, SIGTERM ends a worker in order after its job', async () => {
    gpu.set({ held: true })
    const worker = await startWorkerProcess(service.config, { INFERENCE_URL: gpu.inferenceUrl })
    try {
      const { user, id } = await submit()
      await until(() => gpu.asked().length > 0, 'the inference')
      redis.pause()
      worker.kill('SIGTERM')
      await until(() => worker.readLog().includes('stopping'), 'the signal being noticed')
      gpu.set({ held: false })
      // After a hard stop the exit code is another one.
      expect(await within(ENDLESS_MS, worker.ended, 'the worker')).toBe(0)
      expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
      expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 1, tries: 0 })
    } finally {
      worker.kill('SIGKILL')
    }
  })
})
