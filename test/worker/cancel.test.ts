import { afterAll, beforeAll, expect, it } from 'vitest'
import { cancelStore } from '../../src/db/failure-store.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { chargesOf, givenGeneration, givenUser, MODEL } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { until } from '../support/until.js'

let gpu: A1111StandIn
let service: Service

beforeAll(async () => {
  gpu = await startA1111StandIn({ models: [MODEL.filename], latencyMs: 60_000 })
  service = await startService({ worker: true, env: { INFERENCE_URL: gpu.inferenceUrl } })
})
afterAll(async () => {
  await service?.close()
  await gpu?.close()
})

it('a running inference is interrupted within a second of its cancellation, and the GPU goes on', async () => {
  const user = await givenUser(service.db)
  const { id } = await givenGeneration(service.db, user)
  await gpu.seen(({ path }) => path === '/sdapi/v1/txt2img')

  const canceledAt = performance.now()
  const stores = cancelStore(service.db)
  await stores.cancel(id, 'Canceled.', { onlyQueued: false })
  await gpu.seen(({ path }) => path === '/sdapi/v1/interrupt')
  // Far below the heartbeat's interval, which would notice, too.
  expect(performance.now() - canceledAt).toBeLessThan(1000)
  expect(await chargesOf(service.db, user)).toEqual([
    ['charge', -1],
    ['refund', 1],
  ])

  gpu.set({ latencyMs: 0 })
  const next = await givenGeneration(service.db, await givenUser(service.db))
  const ended = async () =>
    (await service.db.pool.query('SELECT status FROM generations WHERE id = $1', [next.id])).rows[0].status
  await until(async () => (await ended()) === 'succeeded', 'the next generation')
})
