import { afterEach, describe, expect, it } from 'vitest'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { givenUser, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function gpuWith(...models: string[]): Promise<A1111StandIn> {
  const gpu = await startA1111StandIn({ models })
  closers.push(() => gpu.close())
  return gpu
}

async function serviceOn(redis: boolean): Promise<Service> {
  const service = await startService({ redis, env: { RATE_LIMIT_MAX: '100000' } })
  closers.push(() => service.close())
  return service
}

/** How long submitted generations waited for their start, in milliseconds. */
async function waits(service: Service, count: number, models: readonly number[]): Promise<number[]> {
  const waited: number[] = []
  for (let i = 0; i < count; i++) {
    const user = await givenUser(service.db)
    const body = { ...PROMPT, width: 256, height: 256, model_version_id: models[i % models.length] }
    const submitted = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
    expect(await endOf(service, user, submitted.body.id)).toMatchObject({ status: 'succeeded' })
    const row = await rowOf(service.db, submitted.body)
    waited.push(row.started_at - row.created_at)
  }
  return waited.sort((a, b) => a - b)
}

// Looking by itself, a worker finds work every 2 s; whoever is rung or called starts far sooner. The median leaves
// room for a busy machine.
const promptly = (waited: number[]) => expect(waited[Math.floor(waited.length / 2)]).toBeLessThan(700)

describe.each([
  ['Redis', true],
  ['one machine', false],
])('idle workers on %s', (_mode, redis) => {
  const on = it.skipIf(redis && !redisAvailable)

  on('start at once, whichever of them the delivery rang for and whichever has the model', async () => {
    const service = await serviceOn(redis)
    await service.worker({}, { INFERENCE_URL: (await gpuWith('ponyDiffusionV6XL.safetensors')).inferenceUrl })
    await service.worker({}, { INFERENCE_URL: (await gpuWith('sd_xl_base_1.0.safetensors')).inferenceUrl })
    promptly(await waits(service, 8, [10, 13]))
  })

  on('start at once although another worker, whose server is down, hears deliveries too', async () => {
    const service = await serviceOn(redis)
    const down = await gpuWith('ponyDiffusionV6XL.safetensors')
    await down.refuse()
    await service.worker({}, { INFERENCE_URL: down.inferenceUrl })
    await service.worker({}, { INFERENCE_URL: (await gpuWith('ponyDiffusionV6XL.safetensors')).inferenceUrl })
    promptly(await waits(service, 8, [10]))
  })

  on('start at once after Postgres was away when their process started', async () => {
    const service = await serviceOn(redis)
    const proxy = await startFaultProxy(service.config.databaseUrl)
    closers.push(() => proxy.close())
    await proxy.refuse()
    await service.worker({}, { DATABASE_URL: proxy.through(service.config.databaseUrl) })
    await proxy.pass()
    await until(async () => (await service.db.pool.query('SELECT 1 FROM backends WHERE up')).rowCount, 'the worker')
    await waits(service, 2, [10])
    promptly(await waits(service, 6, [10]))
  })
})
