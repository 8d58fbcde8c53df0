import { afterEach, describe, expect, it } from 'vitest'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, PROMPT } from '../support/client.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { givenUser, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'
import { ONLY_WHEN_CALLED } from '../support/worker-times.js'
import { endRepairs } from './reconciler.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function gpuWith(...models: string[]): Promise<A1111StandIn> {
  const gpu = await startA1111StandIn({ models })
  closers.push(() => gpu.close())
  return gpu
}

const startOn = async (redis: boolean): Promise<Service> => {
  const service = await startService({ redis, env: { RATE_LIMIT_MAX: '100000' } })
  closers.push(() => service.close())
  await endRepairs(service.db)
  return service
}

const startWorker = (service: Service, { inferenceUrl }: A1111StandIn, env: Record<string, string> = {}) =>
  service.worker({ times: ONLY_WHEN_CALLED }, { INFERENCE_URL: inferenceUrl, ...env })

/** Long: the first start after an outage was once seen to take a minute, on a busy machine. Why is not known. */
const START_WITHIN_MS = 150_000

/** Submits generations of these models in turn, each when the one before has ended: all workers are idle by then. */
async function expectStarts(service: Service, count: number, models: readonly number[]): Promise<void> {
  for (let i = 0; i < count; i++) {
    const user = await givenUser(service.db)
    const body = { ...PROMPT, width: 256, height: 256, model_version_id: models[i % models.length] }
    const submitted = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
    const hasEnded = async () => (await rowOf(service.db, submitted.body)).finished_at
    await until(hasEnded, 'the end of the generation', START_WITHIN_MS)
    expect(await rowOf(service.db, submitted.body)).toMatchObject({ status: 'succeeded' })
  }
}

// No worker here looks for work by itself, and no reconciler enqueues anything anew.
describe.each([
  ['Redis', true],
  ['one machine', false],
])('idle workers on %s', (_mode, redis) => {
  const on = (title: string, test: () => Promise<void>) =>
    it.skipIf(redis && !redisAvailable)(title, { timeout: 300_000 }, test)

  on('start a generation whichever of them its job reaches and whichever has its model', async () => {
    const service = await startOn(redis)
    await startWorker(service, await gpuWith('ponyDiffusionV6XL.safetensors'))
    await startWorker(service, await gpuWith('sd_xl_base_1.0.safetensors'))
    // Jobs reach the two in turn, so each gets one that it can do and one that it cannot.
    await expectStarts(service, 8, [10, 10, 13, 13])
  })

  on('start a generation although its job may reach another worker, whose server is down', async () => {
    const service = await startOn(redis)
    const down = await gpuWith('ponyDiffusionV6XL.safetensors')
    await down.refuse()
    await startWorker(service, down)
    await startWorker(service, await gpuWith('ponyDiffusionV6XL.safetensors'))
    await expectStarts(service, 6, [10])
  })

  on('start generations after Postgres was away when their process started', async () => {
    const service = await startOn(redis)
    const proxy = await startFaultProxy(service.config.databaseUrl)
    closers.push(() => proxy.close())
    await proxy.refuse()
    const gpu = await gpuWith('ponyDiffusionV6XL.safetensors')
    await startWorker(service, gpu, { DATABASE_URL: proxy.through(service.config.databaseUrl) })
    await proxy.pass()
    await expectStarts(service, 3, [10])
  })
})
